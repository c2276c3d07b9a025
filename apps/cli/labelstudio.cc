// quorate labelstudio: runs the program quorate-labelstudio of the Python package in its place.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common.h"
#include "help.h"
#include "picture.h"
#include "quorate/base/error.h"

namespace quorate::cli {

Command add_labelstudio(CLI::App& app) {
  app.set_help_flag();  // all options are those of the other program
  app.allow_extras();
  app.footer(
      "Needs the Python package (pip install quorate), which has all options: quorate labelstudio --help\nExample:\n  "
      "LABEL_STUDIO_TOKEN=... quorate labelstudio --server http://127.0.0.1:8717 --url http://127.0.0.1:8080 --project "
      "spam");
  return [&app]() -> int {
    constexpr const char* kName = "quorate-labelstudio";
    std::vector<std::string> words{program_beside(kName)};
    for (std::string& word : app.remaining()) words.push_back(std::move(word));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    const int why = errno;
    if (why == ENOENT)
      throw UsageError(std::string(kName) +
                       ": no such program beside quorate or on the PATH; expected it from pip install quorate");
    throw FileError(std::string(kName) + ": cannot be run: " + std::strerror(why));
  };
}

}  // namespace quorate::cli
