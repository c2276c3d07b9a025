// Files written whole or not at all.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace quorate {

/// A file under construction: written beside its place under another name, moved there by commit(), removed otherwise.
/// The path "-" is standard output, written as it comes.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  ///< throws FileError
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);  ///< throws FileError (no space, closed pipe, ...)
  void flush();                        ///< to whoever reads it; throws FileError
  void commit();                       ///< flush to the disk and move into place; throws FileError

 private:
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

/// All bytes of a file. Throws FileError.
std::string read_file(const std::string& path);

}  // namespace quorate
