// The quorate program: one command a file.
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <system_error>

#include "common.h"
#include "help.h"
#include "quorate/base/error.h"
#include "quorate/base/simd.h"
#include "quorate/base/utf8.h"
#include "quorate/version.h"

namespace {

/// A message that repeats what was typed, cut where that is longer than anybody reads.
std::string shortened(std::string text) {
  constexpr std::size_t kBegin = 6000, kEnd = 1000;
  if (text.size() > kBegin + kEnd) {
    std::size_t from = kBegin, to = text.size() - kEnd;
    while (from > 0 && (text[from] & 0xC0) == 0x80) --from;  // no half a character
    while (to < text.size() && (text[to] & 0xC0) == 0x80) ++to;
    text.replace(from, to - from, " [...] ");
  }
  return text;
}

/// Descriptors 0 to 2 that were closed are taken, so that no file of ours becomes standard output. Reading or writing them
/// fails as before.
void take_standard_descriptors() {
  for (int d = STDIN_FILENO; d <= STDERR_FILENO; ++d)
    if (fcntl(d, F_GETFD) < 0) {
      const int taken = open("/dev/null", d == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      if (taken >= 0 && taken != d) close(taken);  // not to happen: the lowest free one is given
    }
}

/// Where the address space is limited, a thread's own heap may not fit, and each of its allocations would be a mapping.
void share_one_heap_where_memory_is_limited() {
#ifdef M_ARENA_MAX
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
#endif
}

int run(int argc, char** argv) {
  using namespace quorate::cli;
  CLI::App app{"Quorate learns many related classifiers from one stream, with few labels and within a memory limit."};
  set_help(app);
  app.set_version_flag("-v,--version", std::string("quorate ") + quorate::kVersion, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 bad data, 2 bad usage, 3 file error, 4 out of memory, 130 interrupted.\nHelp on one "
      "command: quorate help COMMAND");

  struct Entry {
    const char* name;
    const char* help;
    Command (*add)(CLI::App&);
  };
  constexpr Entry kCommands[] = {
      {"look", "show what the columns of a file hold, and the command to type next", add_look},
      {"simulate", "replay labelled data with hidden labels, and measure", add_simulate},
      {"compare", "compare learners on the same splits: table, intervals, plots", add_compare},
      {"tune", "find the best parameters of a learner by cross-validation", add_tune},
      {"train", "learn a model from a stream, or continue one", add_train},
      {"predict", "predict with a model, as JSON lines or CSV", add_predict},
      {"evaluate", "measure a model on labelled data", add_evaluate},
      {"inspect", "show a model file", add_inspect},
      {"labels", "list the labels that a model keeps; cross-validate on them", add_labels},
      {"rebuild", "learn a model again: without some labels or a task, or with other settings", add_rebuild},
#ifdef QUORATE_SERVER
      {"serve", "let people answer in a browser what the learner asks", add_serve},
      {"work", "judge a stream by the model of quorate serve, and ask there, beside other machines", add_work},
      {"label", "answer in a terminal what the learner asks", add_label},
      {"journal", "check, show, export or rebuild what quorate serve keeps", add_journal},
#endif
      {"labelstudio", "let people answer in Label Studio what quorate serve asks", add_labelstudio},
      {"convert", "convert data to another format", add_convert},
      {"generate", "generate synthetic data", add_generate},
      {"describe", "list the learners and their parameters", add_describe},
      {"help", "explain a command", add_help},
      {"version", "print the version", add_version},
      {"completion", "print a completion script for bash or zsh", add_completion},
      {"man", "print the manual page", add_man},
  };
  std::vector<std::pair<CLI::App*, Command>> commands;
  for (const Entry& e : kCommands) {
    CLI::App* sub = app.add_subcommand(e.name, e.help);
    commands.emplace_back(sub, e.add(*sub));
  }
  arrange(app);
  if (const char* set = std::getenv("QUORATE_SIMD"); set != nullptr && !quorate::use_simd(set)) {
    std::cerr << "quorate: QUORATE_SIMD=" << shortened(set) << " in the environment: expected plain, avx2 or avx512\n";
    return kBadUsage;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of its write
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; quorate::find_not_utf8(word) != word.npos) {
      std::cerr << "quorate: argument " << i << ": " << quorate::not_utf8(word[quorate::find_not_utf8(word)]) << "\n";
      return kBadUsage;
    }
  if (argc == 1) {
    std::cout << app.help();
    return kDone;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::cerr << "quorate: " << shortened(quorate::one_line(explained(app, e))) << "\n";
    return kBadUsage;
  }
  const auto fail = [](const std::exception& e, int code) {
    std::cout.flush();
    std::cerr << "quorate: " << shortened(e.what()) << "\n";
    return code;
  };
  try {
    for (const auto& [sub, run] : commands)
      if (sub->parsed()) {
        const int code = run();
        std::cout.flush();
        if (!std::cout) throw quorate::FileError("standard output: cannot be written");
        return code;
      }
  } catch (const Interrupted& e) {
    return fail(e, kInterrupted);
  } catch (const quorate::UsageError& e) {
    return fail(e, kBadUsage);
  } catch (const quorate::MemoryError& e) {
    return fail(e, kNoMemory);
  } catch (const std::bad_alloc&) {
    return fail(quorate::MemoryError("the machine has no memory left"), kNoMemory);
  } catch (const quorate::FileError& e) {
    return fail(e, kFileTrouble);
  } catch (const quorate::DataError& e) {
    return fail(e, kBadData);
  } catch (const std::system_error& e) {
    const bool memory = e.code() == std::errc::resource_unavailable_try_again || e.code() == std::errc::not_enough_memory;
    return memory ? fail(quorate::MemoryError("the machine has no memory left: " + std::string(e.what())), kNoMemory)
                  : fail(e, kFileTrouble);
  } catch (const std::exception& e) {
    return fail(e, kFileTrouble);
  }
  return kBadUsage;
}

}  // namespace

int main(int argc, char** argv) {
  take_standard_descriptors();
  share_one_heap_where_memory_is_limited();
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {  // before a command runs, or of the message that says why one ended
    constexpr std::string_view kMessage = "quorate: the machine has no memory left\n";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    return quorate::cli::kNoMemory;
  }
}
