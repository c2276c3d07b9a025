// What the declared commands and options say of themselves: help texts, documents and errors are made from it.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace quorate::cli {

// Groups of options. Others are the common ones.
inline constexpr const char kReading[] = "Reading the data", kFeatures[] = "Features", kLearning[] = "Labels and memory",
                            kRuns[] = "Runs", kOutput[] = "Output";

/// Puts the options that are added to `app` during its lifetime into a group.
class InGroup {
 public:
  InGroup(CLI::App& app, const char* name) : app_(app) { app_.option_defaults()->group(name); }
  ~InGroup() { app_.option_defaults()->group("Options"); }
  InGroup(const InGroup&) = delete;

 private:
  CLI::App& app_;
};

/// Allows these words only; help and completion show them.
CLI::Option* choose(CLI::Option* option, const std::vector<std::string_view>& words);

/// An option or argument, a command: how it is written, and its meaning.
struct Item {
  std::string head, text;
};
struct Section {
  std::string title;
  std::vector<Item> items;
};
/// Commands, arguments, then options in groups, common ones first.
std::vector<Section> sections(const CLI::App& app);

/// "quorate train --data FILE --model FILE [options]": with all that is required.
std::string usage(const CLI::App& app);
/// "quorate generate drift"
std::string full_name(const CLI::App& app);
/// The kind of an option's value: FILE, FOLDER, LEARNER, COMMAND, NUMBER, TEXT, .., or its words, as "stop|skip"; "" of a
/// flag.
std::string kind_of(const CLI::Option& option);
/// "--data", or the name of an argument.
std::string name_of(const CLI::Option& option);
/// The commands of an app that are not hidden.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// `text` in lines of at most `width` characters that begin with `indent` spaces. Lines of it that begin with two spaces are
/// commands, which are continued by a backslash.
std::string wrapped(const std::string& text, std::size_t indent = 0, std::size_t width = 80);

/// Prints help in this way, for `app` and commands added to it later.
void set_help(CLI::App& app);
/// Puts options that several commands have under one name into the group where they belong.
void arrange(CLI::App& app);

/// An error of the command line in one line: what was mistyped, the nearest name, and where the help is.
std::string explained(const CLI::App& app, const CLI::ParseError& error);

}  // namespace quorate::cli
