// Every learner with every combination of its choices (graph, query, ...), built from the registry's own description, so
// that a new row or alternative is tested the moment it is there.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "quorate/registry.h"
#include "support/temp.h"

namespace quorate::test {

/// A learner's spec; a file it needs is filled in when the test runs.
struct Setting {
  Spec spec;
  std::string name;  // of the test

  Capabilities can() const { return capabilities(canonical(spec)); }
  /// Has one annotator for all tasks; of a round of one it asks for the one.
  bool shares() const { return can().selects || has("choose=all"); }
  bool asks_always() const { return shares() || has("query=always"); }
  bool has(std::string_view text) const { return to_text(canonical(spec)).find(text) != std::string::npos; }
  /// Every mistake costs memory, for ever.
  bool grows() const { return can().keeps_instances && !can().forgets; }
  /// Counts how common features are, in every example that comes.
  bool counts() const { return has("scale=log-idf") || has("scale=auto"); }
  /// Keeps matrices of features x features.
  bool squares_features() const { return has("diagonal=false"); }
  /// Only rules that draw depend on the seed.
  bool draws() const { return !asks_always() || algorithm(spec).own.draws; }
};
inline void PrintTo(const Setting& s, std::ostream* os) { *os << to_text(s.spec); }

/// Every learner with every pair of alternatives of its choices, all else as it is by default. QUORATE_CHOICES=1: with every
/// single one, a third as many, for the sanitizers.
inline std::vector<Setting> all_settings() {
  const char* few = std::getenv("QUORATE_CHOICES");
  const std::size_t changed_at_most = few != nullptr ? static_cast<std::size_t>(std::atoi(few)) : 2;
  std::vector<Setting> out;
  for (const Algorithm& a : algorithms()) {
    std::vector<std::pair<Setting, std::size_t>> row{{{{std::string(a.name), {}}, std::string(a.name)}, 0}};
    for (const ParamInfo& param : a.params())  // small enough that instances have to leave
      if (param.name == "budget") row[0].first.spec.args.push_back({"budget", {"20", {}}});
    for (const ParamInfo& param : a.params()) {
      std::vector<ChoiceInfo> choices = param.choices;
      if (param.type == "bool") choices = {{"false", "", {}}, {"true", "", {}}};
      if (param.name == "scale")
        std::erase_if(choices, [](const ChoiceInfo& c) { return c.name != "none" && c.name != "log-idf"; });
      if (choices.empty()) continue;
      std::vector<std::pair<Setting, std::size_t>> grown;
      for (const auto& [setting, changed] : row)
        for (const ChoiceInfo& choice : choices) {
          const bool differs = !param.initial.starts_with(choice.name);
          if (differs && changed == changed_at_most) continue;
          Setting one = setting;
          one.spec.args.push_back({param.name, {choice.name, {}}});
          one.name += "_" + (param.type == "bool" ? param.name + "_" + choice.name : choice.name);
          for (const ParamInfo& inner : choice.params)
            if (inner.type == "text" && inner.name == "file")
              one.spec.args.back().value.args.push_back({"file", {"@" + choice.name, {}}});
          if (choice.name == "hashed") one.spec.args.back().value.args.push_back({"bits", {"12", {}}});
          grown.emplace_back(one, changed + differs);
        }
      row = grown;
    }
    for (const auto& [setting, changed] : row) out.push_back(setting);
  }
  for (Setting& s : out)
    for (char& c : s.name)
      if (c == '-') c = '_';
  return out;
}

/// Graph files over the tasks t0 .. t5, with a task that never comes, one that is alone, and names that need quotes.
inline Spec with_files(Spec spec, const TempDir& dir) {
  if (spec.word == "@cliques") spec.word = dir.write("cliques.csv", "task,group\nt3,b\nt0,a\n\"gh,ost\",a\nt1,a\nt4,b\n");
  if (spec.word == "@weights") spec.word = dir.write("weights.csv", "task,weight\nt3,2.5\nt0,1\n\"gh,ost\",4\n");
  if (spec.word == "@edges") spec.word = dir.write("edges.csv", "from,to\nt3,t1\nt0,t1\nt4,\"gh,ost\"\nt1,t0\n");
  for (Spec::Arg& arg : spec.args) arg.value = with_files(arg.value, dir);
  return spec;
}

/// A test over every setting.
class EveryLearner : public testing::TestWithParam<Setting> {
 protected:
  Spec spec() const { return with_files(GetParam().spec, dir_); }
  TempDir dir_;
};
inline std::string setting_name(const testing::TestParamInfo<Setting>& info) { return info.param.name; }

}  // namespace quorate::test
