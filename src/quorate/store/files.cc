#include "quorate/store/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"

namespace quorate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".quorate-part";  // the end of a temporary's name, after six random characters

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what + ": " + std::strerror(errno));
}

[[noreturn]] void fail_to_create(const std::string& path) {
  throw FileError(path + ": cannot be written: " + std::strerror(errno) +
                  "; expected an existing folder with write permission");
}

/// The file that `path` names, through links, even if it does not exist yet.
std::string follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path out = path;
  std::error_code none;
  for (int links = 0; fs::is_symlink(out, none); ++links) {
    const fs::path target = fs::read_symlink(out, none);
    if (none || links == kMostLinks) throw FileError(path + ": a symbolic link that leads nowhere; expected a file");
    out = target.is_absolute() ? target : out.parent_path() / target;
  }
  return out.string();
}

/// Whether the open file is still the one of that name.
bool is_at(int file, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/// Removes the temporaries in a folder whose processes are dead: those without a lock.
void remove_stale(const fs::path& folder) {
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
    const std::string path = at->path().string();
    if (!path.ends_with(kTemporary)) continue;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_at(file, path)) unlink(path.c_str());
    close(file);
  }
}

/// A new file beside `path`, locked. Its name is put into `temporary`. Negative if it cannot be created (errno).
int create_temporary(const std::string& path, std::string& temporary) {
  for (;;) {
    temporary = path + ".XXXXXX" + std::string(kTemporary);
    const int file = mkostemps(temporary.data(), static_cast<int>(kTemporary.size()), O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX) != 0 || is_at(file, temporary)) return file;
    close(file);  // remove_stale() of another process was faster than the lock
  }
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    file_ = stdout;
    return;
  }
  path_ = follow_links(path_);
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {  // a device or pipe cannot be replaced
    file_ = std::fopen(path_.c_str(), "wbe");
    if (file_ == nullptr) throw FileError(path_ + ": cannot be written: " + std::strerror(errno) + "; expected a file");
    return;
  }
  remove_stale(fs::path(path_).has_parent_path() ? fs::path(path_).parent_path() : fs::path("."));
  const int descriptor = create_temporary(path_, temporary_);
  if (descriptor < 0) {
    temporary_.clear();
    fail_to_create(path_);
  }
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file_ = fdopen(descriptor, "wb");
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void OutputFile::write(std::string_view bytes) {
  if (bytes.empty()) return;  // data() may be null
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail(path_, "cannot be written");
}

void OutputFile::flush() {
  if (std::fflush(file_) != 0) fail(path_, "cannot be written");
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) return;
  if (fsync(fileno(file_)) != 0) fail(path_, "cannot be written");
  // Moved before it is closed, which would end the lock.
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be moved into place");
  temporary_.clear();
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(path_, "cannot be written");
}

FileLock::FileLock(const std::string& path) {
  const std::string file = follow_links(path);
  std::error_code none;
  if (const auto status = fs::status(file, none); fs::exists(status) && !fs::is_regular_file(status))
    throw FileError(path + ": not a regular file; expected a model file, or a new name");
  lock_ = file + ".quorate-lock";
  for (;;) {
    file_ = open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) fail_to_create(path);
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return;  // no locks here
      close(file_);
      throw FileError(path + ": another process is training this model; wait until it ends, or use another --model");
    }
    if (is_at(file_, lock_)) return;
    close(file_);  // its holder removed it just now
  }
}

FileLock::~FileLock() {
  unlink(lock_.c_str());
  close(file_);
}

bool file_exists(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::status_known(status)) throw FileError(path + ": cannot be opened: " + failed.message());
  return fs::exists(status);
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat out {
  }, in{};
  if ((a == "-" ? fstat(STDOUT_FILENO, &out) : stat(a.c_str(), &out)) != 0) return false;
  if ((b == "-" ? fstat(STDIN_FILENO, &in) : stat(b.c_str(), &in)) != 0) return false;
  return (S_ISREG(in.st_mode) || S_ISFIFO(in.st_mode)) && out.st_dev == in.st_dev && out.st_ino == in.st_ino;
}

void OutputFile::write_at(std::size_t offset, std::string_view bytes) {
  flush();
  if (pwrite(fileno(file_), bytes.data(), bytes.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes.size()))
    fail(path_, "cannot be written");
}

Column<std::byte> bytes_of_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(path, "cannot be opened");
  const std::shared_ptr<const int> file(new int(descriptor), [](const int* d) {
    close(*d);
    delete d;
  });
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail(path, "cannot be read");
  if (S_ISDIR(status.st_mode)) throw FileError(path + ": is a directory; expected a model file");
  if (!S_ISREG(status.st_mode)) throw FileError(path + ": is no regular file; expected a model file");
  return {static_cast<std::size_t>(status.st_size), [file, path](std::size_t begin, std::span<std::byte> out) {
            while (!out.empty()) {
              const ssize_t n = pread(*file, out.data(), out.size(), static_cast<off_t>(begin));
              if (n < 0 && errno == EINTR) continue;
              if (n < 0) fail(path, "cannot be read");
              if (n == 0) throw FileError(path + ": became shorter while it was read");
              begin += static_cast<std::size_t>(n);
              out = out.subspan(static_cast<std::size_t>(n));
            }
          }};
}

std::string read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) fail(path, "cannot be opened");
  struct stat info {};
  if (fstat(fileno(file), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode)) {
    std::fclose(file);
    throw FileError(path + ": a " + (S_ISDIR(info.st_mode) ? "directory" : "device") + "; expected a file");
  }
  std::string out;
  char buffer[1 << 16];
  std::size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) out.append(buffer, n);
  const bool bad = std::ferror(file) != 0;
  std::fclose(file);
  if (bad) fail(path, "cannot be read");
  return out;
}

std::string hash_of_file(const std::string& path) {
  constexpr std::size_t kHashedAtOnce = std::size_t{1} << 18;  // bytes
  const auto bytes = bytes_of_file(path);
  Hasher128 hasher;
  std::vector<std::byte> part;
  for (std::size_t at = 0; at < bytes.size(); at += part.size()) {
    part.resize(std::min(kHashedAtOnce, bytes.size() - at));
    bytes.read(at, part);
    hasher.add({reinterpret_cast<const char*>(part.data()), part.size()});
  }
  return hasher.hex();
}

}  // namespace quorate
