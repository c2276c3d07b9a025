// quorate help, version, completion, man: what the commands and options declare, as texts for people and shells.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "common.h"
#include "help.h"
#include "quorate/base/error.h"
#include "quorate/base/nearest.h"
#include "quorate/params/params.h"
#include "quorate/registry.h"
#include "quorate/version.h"
#include "server/static_files.h"

namespace quorate::server {
std::span<const Asset> licence_assets();  // LICENCES-THIRD-PARTY.txt, embedded by cmake/embed.cmake
}

namespace quorate::cli {
namespace {

const CLI::App& root_of(const CLI::App& app) { return app.get_parent() == nullptr ? app : root_of(*app.get_parent()); }

/// `app` and every command below it.
std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  std::vector<const CLI::App*> out{&app};
  for (const CLI::App* sub : commands_of(app))
    for (const CLI::App* each : all_commands(*sub)) out.push_back(each);
  return out;
}

/// "generate drift"; "" for the root.
std::string command_name(const CLI::App& app) { return app.get_parent() == nullptr ? "" : full_name(app).substr(8); }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

// ---- completion

constexpr char kNothing[] = "return";  // what a script does where it has no list

struct Word {
  std::string name, meaning;
};

/// The words that a value of this kind can have; empty if there is no list of them.
std::vector<Word> words_of(const std::string& kind, const CLI::App& root) {
  std::vector<Word> out;
  if (kind == "LEARNER")
    for (const Algorithm& a : algorithms()) out.push_back({std::string(a.name), std::string(a.title)});
  if (kind == "COMMAND")
    for (const CLI::App* sub : commands_of(root)) out.push_back({sub->get_name(), sub->get_description()});
  if (kind.empty() || kind[0] < 'a') return out;  // TEXT: not listed
  for (std::size_t at = 0; at <= kind.size();) {
    const std::size_t end = std::min(kind.find('|', at), kind.size());
    out.push_back({kind.substr(at, end - at), ""});
    at = end + 1;
  }
  return out;
}

/// bash: names='a b'; zsh: names=('a:meaning' 'b:meaning').
std::string assignment(const std::vector<Word>& words, bool zsh) {
  std::string out;
  for (const Word& w : words) {
    if (!out.empty()) out += " ";
    if (!zsh) {
      out += w.name;
      continue;
    }
    const std::string meaning = w.meaning.substr(0, w.meaning.find_first_of(";("));
    out += "'" + w.name + (meaning.empty() ? "" : ":" + replaced(meaning, "'", "'\\''")) + "'";
  }
  return zsh ? "names=(" + out + ")" : "names='" + out + "'";
}

/// What is done for a value of this kind.
std::string action(const std::string& kind, const CLI::App& root, bool zsh) {
  if (const auto words = words_of(kind, root); !words.empty()) return assignment(words, zsh);
  if (kind == "FILE") return zsh ? "_files; return" : "what=-f";
  if (kind == "FOLDER") return zsh ? "_files -/; return" : "what=-d";
  return kNothing;
}

/// The lines of a case: what follows an option, by the command and the option.
std::string values(const CLI::App& root, bool zsh) {
  std::map<std::string, std::string> patterns;  // of an action
  std::set<std::string> unlisted;               // options whose values are not known
  for (const CLI::App* app : all_commands(root))
    for (const CLI::Option* option : app->get_options()) {
      const std::string kind = kind_of(*option);
      if (kind.empty() || !option->nonpositional()) continue;
      const std::string act = action(kind, root, zsh);
      if (act == kNothing) {
        unlisted.insert("*' " + name_of(*option) + "'");
        continue;
      }
      std::string& pattern = patterns[act];
      pattern += (pattern.empty() ? "" : " | ") + ("'" + command_name(*app) + " " + name_of(*option) + "'");
    }
  std::string out;
  for (const auto& [act, pattern] : patterns) out += "    " + pattern + ") " + act + " ;;\n";
  const std::vector<std::string_view> rest(unlisted.begin(), unlisted.end());
  return out + "    " + joined(rest, " | ") + ") " + kNothing + " ;;\n";
}

/// The lines of a case: options, or commands and arguments, by the command.
std::string names(const CLI::App& root, bool zsh) {
  std::string out;
  std::vector<const CLI::App*> all = all_commands(root);
  std::reverse(all.begin(), all.end());  // 'generate drift' before 'generate'
  for (const CLI::App* app : all) {
    std::vector<Word> options;
    std::string kind;
    for (const CLI::Option* option : app->get_options()) {
      if (option->nonpositional()) options.push_back({name_of(*option), option->get_description()});
      if (option->get_positional() && kind.empty()) kind = kind_of(*option);
    }
    std::vector<Word> commands;
    for (const CLI::App* sub : commands_of(*app)) commands.push_back({sub->get_name(), sub->get_description()});
    out += "      '" + command_name(*app) + " -'*) " + assignment(options, zsh) + " ;;\n";
    out += "      '" + command_name(*app) + " '*) " +
           (commands.empty() ? action(kind, root, zsh) : assignment(commands, zsh)) + " ;;\n";
  }
  return out;
}

/// The commands that have commands, as a pattern.
std::string with_commands(const CLI::App& root) {
  std::string out;
  for (const CLI::App* sub : commands_of(root))
    if (!commands_of(*sub).empty()) out += (out.empty() ? "" : " | ") + sub->get_name();
  return out;
}

/// What is completed, by the word before and the word at hand.
std::string cases(const CLI::App& root, bool zsh) {
  return R"(  case "$command $before" in
)" + values(root, zsh) +
         R"(    *) case "$command $current" in
)" + names(root, zsh) +
         R"(      esac ;;
  esac
)";
}

std::string bash(const CLI::App& root) {
  return R"(# Completion of quorate for bash. Made by `quorate completion bash`.
_quorate() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= names= what=
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}
  case $command in
    )" + with_commands(root) +
         R"() ((COMP_CWORD > 2)) && command+=" ${COMP_WORDS[2]}" ;;
  esac
  COMPREPLY=()
)" + cases(root, false) +
         R"(  if [[ -n $what ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$what" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
  fi
}
complete -F _quorate quorate
)";
}

std::string zsh(const CLI::App& root) {
  return R"(#compdef quorate
# Completion of quorate for zsh. Made by `quorate completion zsh`.
_quorate() {
  local current=$words[CURRENT] before=$words[CURRENT-1] command=
  local -a names
  ((CURRENT > 2)) && command=$words[2]
  case $command in
    )" + with_commands(root) +
         R"() ((CURRENT > 3)) && command+=" $words[3]" ;;
  esac
)" + cases(root, true) +
         R"(  _describe quorate names
}
if [[ $funcstack[1] == _quorate ]]; then
  _quorate "$@"
else
  compdef _quorate quorate
fi
)";
}

// ---- man

/// Text for troff, safe at the beginning of a line.
std::string roff(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

/// Lines that begin with two spaces are commands.
std::string roff_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.starts_with("  ") ? ".PP\n.nf\n" + roff(line) + "\n.fi\n" : ".PP\n" + roff(line) + "\n";
  return out;
}

std::string man(const CLI::App& root) {
  std::string out =
      ".\\\" Made by `quorate man`.\n.TH QUORATE 1 \"\" \"quorate " + std::string(kVersion) +
      "\" \"User Commands\"\n.SH NAME\nquorate \\- many related classifiers from one stream, few labels, fixed "
      "memory\n.SH SYNOPSIS\n.nf\n";
  for (const CLI::App* sub : commands_of(root)) out += roff(usage(*sub)) + "\n";
  out += ".fi\n.SH DESCRIPTION\n" + roff(root.get_description()) + "\n";
  for (const CLI::App* app : all_commands(root)) {
    const bool top = app == &root;
    if (!top)
      out += ".SH " + replaced(full_name(*app), " ", "\\ ") + "\n" + roff(app->get_description()) + "\n.PP\n" +
             roff(usage(*app)) + "\n";
    for (const Section& section : sections(*app)) {
      out += (top ? ".SH " : ".SS ") + section.title + "\n";
      for (const Item& item : section.items) out += ".TP\n.B " + roff(item.head) + "\n" + roff(item.text) + "\n";
    }
    if (!top && app->get_footer() != root.get_footer()) out += ".SS Notes\n" + roff_lines(app->get_footer());
  }
  return out + ".SH NOTES\n" + roff_lines(root.get_footer());
}

}  // namespace

Command add_help(CLI::App& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  app.add_option("command", *words, "command to explain")->type_name("COMMAND");
  return [&app, words] {
    const CLI::App* at = &root_of(app);
    for (const std::string& word : *words) {
      std::vector<std::string> known;
      for (const CLI::App* sub : commands_of(*at)) known.push_back(sub->get_name());
      const auto found = std::find(known.begin(), known.end(), word);
      if (found == known.end())
        throw UsageError("unknown command " + quoted_value(word) +
                         did_you_mean(word, std::vector<std::string_view>(known.begin(), known.end())) + "; see " +
                         full_name(*at) + " --help");
      at = commands_of(*at)[static_cast<std::size_t>(found - known.begin())];
    }
    // help() of a command with a parsed one would be that one's
    std::cout << at->get_formatter()->make_help(at, "", CLI::AppFormatMode::Normal);
    return kDone;
  };
}

Command add_version(CLI::App& app) {
  const auto licences = std::make_shared<bool>(false);
  app.add_flag("--licences", *licences, "print the licences of the libraries that the program contains or links");
  return [licences] {
    if (*licences)
      std::cout << server::licence_assets().front().bytes;
    else
      std::cout << "quorate " << kVersion << "\n";
    return kDone;
  };
}

Command add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  choose(app.add_option("shell", *shell, "shell to make it for")->required(), {"bash", "zsh"});
  app.footer("Example:\n  source <(quorate completion bash)");
  return [&app, shell] {
    std::cout << (*shell == "bash" ? bash(root_of(app)) : zsh(root_of(app)));
    return kDone;
  };
}

Command add_man(CLI::App& app) {
  app.footer("Example:\n  quorate man | man -l -");
  return [&app] {
    std::cout << man(root_of(app));
    return kDone;
  };
}

}  // namespace quorate::cli
