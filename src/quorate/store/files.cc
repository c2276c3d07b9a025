#include "quorate/store/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "quorate/base/error.h"

namespace quorate {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    file_ = stdout;
    return;
  }
  std::error_code none;
  if (std::filesystem::is_symlink(path_, none))  // what it points to is what is written, not the link replaced
    if (auto target = std::filesystem::weakly_canonical(path_, none); !none) path_ = target.string();
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {  // a device or a pipe: there is nothing to move
    file_ = std::fopen(path_.c_str(), "wb");
    if (file_ == nullptr) throw FileError(path_ + ": cannot be written: " + std::strerror(errno) + "; expected a file");
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  const int descriptor = mkstemp(temporary_.data());
  if (descriptor < 0) {
    const std::string why = std::strerror(errno);
    temporary_.clear();
    throw FileError(path_ + ": cannot be written: " + why + "; expected a folder that is there and may be written to");
  }
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file_ = fdopen(descriptor, "wb");
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  if (bytes.empty()) return;  // of which there may be no place
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail(path_, "cannot be written");
}

void OutputFile::flush() {
  if (std::fflush(file_) != 0) fail(path_, "cannot be written");
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) return;
  if (fsync(fileno(file_)) != 0) fail(path_, "cannot be written");
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(path_, "cannot be written");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be put in place");
  temporary_.clear();
}

std::string read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(path, "cannot be opened");
  std::string out;
  char buffer[1 << 16];
  std::size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) out.append(buffer, n);
  const bool bad = std::ferror(file) != 0;
  std::fclose(file);
  if (bad) fail(path, "cannot be read");
  return out;
}

}  // namespace quorate
