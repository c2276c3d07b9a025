// The quorate program: one command a file.
#include <exception>
#include <iostream>

#include "common.h"
#include "quorate/base/error.h"
#include "quorate/version.h"

int main(int argc, char** argv) {
  using namespace quorate::cli;
  CLI::App app{
      "Quorate learns many related classifiers from one stream, asks for as few labels as it can, and stays inside the "
      "memory it is given."};
  app.set_version_flag("--version", std::string("quorate ") + quorate::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 bad data, 2 bad usage, 3 file trouble, 130 interrupted.\nHelp on one command: quorate COMMAND "
      "--help");

  struct Entry {
    const char* name;
    const char* help;
    Command (*add)(CLI::App&);
  };
  constexpr Entry kCommands[] = {
      {"simulate", "learn from labelled data whose labels are hidden until asked for, and measure", add_simulate},
      {"compare", "several learners on the same splits: table, intervals, pictures", add_compare},
      {"tune", "the best parameters of a learner, by cross-validation", add_tune},

      {"reproduce", "published tables and figures beside ours", add_reproduce},
      {"train", "learn a model from a stream, or go on learning", add_train},
      {"predict", "predictions of a model, as JSON lines or CSV", add_predict},
      {"inspect", "what a model file holds", add_inspect},
      {"convert", "data from one format to another", add_convert},
      {"generate", "data that are made, for experiments", add_generate},
      {"describe", "the learners and their parameters", add_describe},
  };
  std::vector<std::pair<CLI::App*, Command>> commands;
  for (const Entry& e : kCommands) {
    CLI::App* sub = app.add_subcommand(e.name, e.help);
    commands.emplace_back(sub, e.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::cerr << "quorate: " << e.what() << " (see quorate --help)\n";
    return kBadUsage;
  }
  const auto fail = [](const std::exception& e, int code) {
    std::cout.flush();
    std::cerr << "quorate: " << e.what() << "\n";
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
  } catch (const quorate::UsageError& e) {
    return fail(e, kBadUsage);
  } catch (const quorate::MemoryError& e) {
    return fail(e, kBadUsage);  // --memory is too small
  } catch (const quorate::FileError& e) {
    return fail(e, kFileTrouble);
  } catch (const quorate::DataError& e) {
    return fail(e, kBadData);
  } catch (const std::exception& e) {
    return fail(e, kFileTrouble);  // out of memory and the like
  }
  return kBadUsage;
}
