#include "quorate/desk/settings.h"

#include <nlohmann/json.hpp>

#include "quorate/base/number.h"

namespace quorate {
namespace {

using Json = nlohmann::ordered_json;

/// Values that differ from the defaults, by name.
template <Described P>
Json written(const P& params) {
  Json out = Json::object();
  const P initial{};
  const auto one = [&](const auto& field) {
    const auto& value = params.*(field.member);
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<T, TextList>) {
      if (!value.empty()) out[std::string(field.name)] = value;
    } else if (const std::string text = write_value(value).word, before = write_value(initial.*(field.member)).word;
               text != before) {
      out[std::string(field.name)] = text;
    }
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
  return out;
}

template <Described P>
void read(const Json& in, P& params) {
  const auto one = [&](const auto& field) {
    const auto found = in.find(std::string(field.name));
    if (found == in.end()) return;
    auto& value = params.*(field.member);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, TextList>)
      value = found->template get<TextList>();
    else
      read_value(value, Spec{found->template get<std::string>(), {}}, field.name, field.range);
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
}

}  // namespace

std::optional<KeepJournal> KeepJournal::parse(std::string_view text) {
  if (text == "all") return KeepJournal{};
  const auto files = parse_number<std::uint64_t>(text);
  return files ? std::optional(KeepJournal{files}) : std::nullopt;
}

std::string to_text(const KeepJournal& keep) { return keep.files ? std::to_string(*keep.files) : "all"; }

std::string DeskOptions::to_json() const { return written(*this).dump(); }

DeskOptions DeskOptions::from_json(std::string_view text) {
  DeskOptions out;
  try {
    read(Json::parse(text), out);
  } catch (const nlohmann::json::exception& e) {
    throw DataError(std::string("settings of the desk: ") + e.what());
  }
  return out;
}

void DeskOptions::check() const {
  if (!archive.empty() && keep_journal.files.value_or(0) == 0)
    throw UsageError("--archive " + archive + ": with --keep-journal " + to_text(keep_journal) +
                     " no file is moved there; expected --keep-journal N, 1 or more");
}

std::string DeskSettings::to_json() const {
  return Json{{"learner", to_text(canonical(parse_spec(learner)))},
              {"positive", positive},
              {"negative", negative},
              {"classes", classes},
              {"reduction", reduction},
              {"learning", written(learning)},
              {"features", written(features)},
              {"reading", written(reading)},
              {"desk", written(desk)},
              {"secret", secret}}
      .dump();
}

DeskSettings DeskSettings::from_json(std::string_view text) {
  DeskSettings out;
  try {
    const Json in = Json::parse(text);
    out.learner = in.at("learner");
    out.positive = in.at("positive");
    out.negative = in.at("negative");
    out.classes = in.at("classes").get<std::vector<std::string>>();
    out.reduction = in.at("reduction");
    read(in.at("learning"), out.learning);
    read(in.at("features"), out.features);
    read(in.at("reading"), out.reading);
    read(in.at("desk"), out.desk);
    out.secret = in.value("secret", "");
  } catch (const nlohmann::json::exception& e) {
    throw DataError(std::string("settings of the desk: ") + e.what());
  }
  return out;
}

}  // namespace quorate
