// Files written whole or not at all, and a lock on a file.
#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "quorate/base/column.h"

namespace quorate {

/// A file under construction: written beside its destination under another name, moved there by commit(), removed
/// otherwise. The temporary is locked while its process lives; temporaries of dead processes in the same folder are removed.
/// Symbolic links are followed. The path "-" is standard output, written directly.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  ///< throws FileError
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);  ///< throws FileError (no space, closed pipe, ...)
  /// Replaces bytes that were written at `offset`. Throws FileError, also for devices and pipes.
  void write_at(std::size_t offset, std::string_view bytes);
  void flush();   ///< passes the bytes on to a reader; throws FileError
  void commit();  ///< flushes to the disk and moves into place; throws FileError

 private:
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

/// Holds the file at `path` against other processes that lock it, from construction to destruction: a lock on the file
/// PATH.quorate-lock, which exists as long. It ends with its process, however that ends. Without effect where the file
/// system has no locks.
class FileLock {
 public:
  /// Throws FileError if another process has the lock, if PATH is not a regular file, or if no file can be created
  /// beside it (so it could not be replaced).
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string lock_;
  int file_ = -1;
};

/// Whether `path` exists. Throws FileError if the answer is unknown (no permission, a loop of links).
bool file_exists(const std::string& path);

/// Whether the path to write, a, names the file read at b, and it is no device or socket. "-": standard output, input.
bool same_file(const std::string& a, const std::string& b);

/// The bytes of a regular file, read on access. Throws FileError, also on access if the file became shorter.
Column<std::byte> bytes_of_file(const std::string& path);

/// All bytes of a file. Throws FileError, also for devices.
std::string read_file(const std::string& path);

/// hash128_hex of a file, read part by part. Throws FileError.
std::string hash_of_file(const std::string& path);

}  // namespace quorate
