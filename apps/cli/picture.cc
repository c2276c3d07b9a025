#include "picture.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "quorate/base/error.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

/// A file in memory, closed at the end.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content = {}) : fd_(memfd_create("quorate", MFD_CLOEXEC)) {
    if (fd_ < 0) throw FileError("no file in memory can be made");
    while (!content.empty()) {
      const ssize_t n = write(fd_, content.data(), content.size());
      if (n <= 0) throw FileError("a file in memory cannot be written");
      content.remove_prefix(static_cast<std::size_t>(n));
    }
    lseek(fd_, 0, SEEK_SET);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }

  int fd() const { return fd_; }
  std::string content() const { return read_file("/proc/self/fd/" + std::to_string(fd_)); }

 private:
  int fd_;
};

}  // namespace

std::string program_beside(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / name;
  return !error && access(beside.c_str(), X_OK) == 0 ? beside.string() : name;
}

void check_picture(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png") && !path.ends_with(".pdf"))
    throw UsageError(path + ": expected a name that ends in .svg, .png or .pdf");
}

void draw(const std::string& path, const Json& document) {
  check_picture(path);
  OutputFile out(path);
  const MemoryFile in(document.dump()), picture, said;
  std::string program = program_beside("quorate-plot"), format = path.substr(path.size() - 3);
  char* arguments[] = {program.data(), format.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int files[] = {in.fd(), picture.fd(), said.fd()};
  for (int fd = 0; fd < 3; ++fd) posix_spawn_file_actions_adddup2(&actions, files[fd], fd);
  pid_t child = 0;
  int status = -1;
  const bool started = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started)
    throw FileError(path + ": cannot be drawn; expected quorate-plot, a program of the Python package, and matplotlib");
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string drawn = picture.content();
  if (status != 0 || drawn.empty()) {
    std::string why = said.content();
    why.erase(why.find_last_not_of(" \n") + 1);
    why.erase(0, why.find_last_of('\n') + 1);  // the last line of a Python traceback says what is wrong
    throw FileError(path +
                    ": cannot be drawn: " + (why.empty() ? "quorate-plot ended without a picture" : why.substr(0, 300)));
  }
  out.write(drawn);
  out.commit();
}

}  // namespace quorate::cli
