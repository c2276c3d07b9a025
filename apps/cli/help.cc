#include "help.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "quorate/base/error.h"
#include "quorate/base/nearest.h"
#include "quorate/params/params.h"

namespace quorate::cli {
namespace {

constexpr const char* kCommon = "Options";  // the group that CLI11 gives an option without one
constexpr std::array kGroups{kCommon, kReading, kFeatures, kLearning, kRuns, kOutput};

class HelpText final : public CLI::FormatterBase {
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string out = wrapped(app->get_description()) + "\n" + wrapped("usage:\n  " + usage(*app));
    const std::vector<Section> all = sections(*app);
    std::size_t column = 0;  // where meanings begin
    for (const Section& section : all)
      for (const Item& item : section.items) column = std::max(column, std::min<std::size_t>(item.head.size() + 4, 26));
    for (const Section& section : all) {
      out += "\n" + section.title + ":\n";
      for (const Item& item : section.items) {
        const std::string text = wrapped(item.text, column);
        if (item.head.size() + 4 <= column)
          out += "  " + item.head + std::string(column - 2 - item.head.size(), ' ') + text.substr(column);
        else
          out += "  " + item.head + "\n" + text;
      }
    }
    if (!app->get_footer().empty()) out += "\n" + wrapped(app->get_footer());
    return out;
  }
};

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

/// Of words to choose from: more than fit beside their option in a line.
bool too_long(const std::string& kind) { return kind.size() > 60; }

/// "--labels TEXT", "-h, --help", "MODEL or --model FILE"
std::string head_of(const CLI::Option& option) {
  std::string out = option.get_positional() ? upper(option.get_name(true)) : "", names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  if (!names.empty()) out += (out.empty() ? "" : " or ") + names;
  const std::string kind = kind_of(option);
  if (too_long(kind)) return out + " WORD";  // its text has them
  return out + (names.empty() || kind.empty() ? "" : " " + kind);
}

std::string text_of(const CLI::Option& option) {
  const std::string initial = option.get_default_str(), kind = kind_of(option);
  std::string words = kind.find('|') != kind.npos && (!option.nonpositional() || too_long(kind)) ? ": " + kind : "";
  for (std::size_t at = 0; too_long(kind) && (at = words.find('|')) != words.npos;) words.replace(at, 1, ", ");
  return option.get_description() + words + (initial.empty() || initial == "\"\"" ? "" : " (default: " + initial + ")");
}

}  // namespace

CLI::Option* choose(CLI::Option* option, const std::vector<std::string_view>& words) {
  const std::vector<std::string> kept(words.begin(), words.end());
  return option->type_name(joined(words, "|"))
      ->check(CLI::Validator(
          [kept](const std::string& text) {
            const std::vector<std::string_view> names(kept.begin(), kept.end());
            if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
            return quoted_value(text) + "; expected " + one_of(names, text);
          },
          ""));
}

std::string kind_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  return type == "UINT" || type == "INT" || type == "FLOAT" ? "NUMBER" : type;
}

std::string name_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames()[0];
  return option.get_positional() ? option.get_name(true) : "-" + option.get_snames()[0];
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
}

std::vector<Section> sections(const CLI::App& app) {
  std::vector<Section> out;
  const auto add = [&](const std::string& title, auto belongs, const std::vector<const CLI::Option*>& all) {
    Section section{title, {}};
    for (const CLI::Option* option : all)
      if (belongs(*option)) section.items.push_back({head_of(*option), text_of(*option)});
    if (!section.items.empty()) out.push_back(std::move(section));
  };
  if (const auto commands = commands_of(app); !commands.empty()) {
    out.push_back({"Commands", {}});
    for (const CLI::App* sub : commands) out.back().items.push_back({sub->get_name(), sub->get_description()});
  }
  std::vector<const CLI::Option*> all = app.get_options();
  std::rotate(all.begin(),
              std::find_if(all.begin(), all.end(), [](const CLI::Option* o) { return !o->check_lname("help"); }),
              all.end());  // help is declared first and shown last
  add(
      "Arguments", [](const CLI::Option& o) { return o.get_positional(); }, all);
  for (const std::string group : kGroups)
    add(
        group == kCommon ? "Common options" : group,
        [&](const CLI::Option& o) { return !o.get_positional() && o.get_group() == group; }, all);
  return out;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "quorate" : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string usage(const CLI::App& app) {
  std::string out = full_name(app);
  if (!commands_of(app).empty()) out += " COMMAND";
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_positional() ? upper(option->get_name(true)) : head_of(*option);
    if (option->get_required())
      out += " " + name;
    else if (option->get_positional())
      out += " [" + name + "]";
  }
  return out + " [options]";
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool command = line.starts_with("  ");
    const std::size_t most = width - (command ? 2 : 0);
    std::istringstream words(line);
    std::vector<std::string> pieces;
    for (std::string word; words >> word;) {  // an option of a command stays with its value
      const bool value = command && !pieces.empty() && pieces.back().starts_with("--") && !word.starts_with('-') &&
                         pieces.back().find(' ') == std::string::npos;
      if (value)
        pieces.back() += " " + word;
      else
        pieces.push_back(std::move(word));
    }
    std::string now(indent + (command ? 2 : 0), ' ');
    bool empty = true;
    for (const std::string& word : pieces) {
      if (!empty && now.size() + 1 + word.size() > most) {
        out += now + (command ? " \\\n" : "\n");
        now.assign(indent + (command ? 6 : 0), ' ');
        empty = true;
      }
      now += (empty ? "" : " ") + word;
      empty = false;
    }
    out += now + "\n";
  }
  return out;
}

void set_help(CLI::App& app) { app.formatter(std::make_shared<HelpText>()); }

void arrange(CLI::App& app) {
  constexpr std::pair<const char*, const char*> kPlaces[] = {
      {"--label-column", kCommon}, {"--task-column", kCommon}, {"--labels", kCommon},   {"--json", kOutput},
      {"--csv", kOutput},          {"--markdown", kOutput},    {"--per-task", kOutput}, {"--plot", kOutput},
      {"--trace", kOutput},        {"--influence", kOutput},   {"--delay", kLearning},  {"--lost", kLearning},
      {"--stop-when", kLearning},  {"--forecast", kLearning}};
  for (const auto& [name, group] : kPlaces)
    if (CLI::Option* option = app.get_option_no_throw(name); option != nullptr) option->group(group);
  for (CLI::App* sub : app.get_subcommands({})) arrange(*sub);
}

std::string explained(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands()[0];
  const std::string here = at == &app ? "" : full_name(*at).substr(8) + ": ", see = "; see " + full_name(*at) + " --help";
  const std::vector<std::string> rest = app.remaining(true);
  std::vector<std::string> names;  // of options, else of commands
  const auto mistyped = [&](const std::string& word) {
    return shown_value(word) + did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end())) + see;
  };
  for (const CLI::Option* option : at->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : rest)
    if (word.size() > 1 && word[0] == '-' && word != "--")
      return here + "unknown option " + mistyped(word.substr(0, word.find('=')));
  names.clear();
  const auto commands = commands_of(*at);
  for (const CLI::App* sub : commands) names.push_back(sub->get_name());
  if (!commands.empty() && !rest.empty()) return here + "unknown command " + mistyped(rest[0]);
  if (!commands.empty() && at->get_require_subcommand_min() > 0 &&
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return here + "expected a command: " + joined(std::vector<std::string_view>(names.begin(), names.end())) + see;
  if (rest.empty()) {
    for (const CLI::Option* option : at->get_options()) {
      const std::string name =
          option->get_positional() && option->count() == 0 ? upper(option->get_name(true)) : name_of(*option);
      if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && option->get_required() && option->count() == 0)
        return here + "expected " + name + see;
      if (const auto most = static_cast<std::size_t>(std::max(option->get_items_expected_max(), 1));
          dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && option->count() > most)
        return here + name + " is given " + (option->count() == 2 ? "twice" : std::to_string(option->count()) + " times") +
               "; expected it once" + see;
    }
    return error.what() + see;
  }
  // A file or a folder without its option.
  const bool file = rest[0].find('.') != rest[0].npos;
  for (const char* name : {file ? "--data" : "--dir", file ? "--dir" : "--data"})
    if (const CLI::Option* option = at->get_option_no_throw(name); option != nullptr && option->count() == 0)
      return here + "unexpected argument " + shown_value(rest[0]) + " (did you mean " + name + " " + shown_value(rest[0]) +
             "?)" + see;
  return here + "unexpected argument " + shown_value(rest[0]) + see;
}

}  // namespace quorate::cli
