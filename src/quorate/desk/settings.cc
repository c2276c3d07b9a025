#include "quorate/desk/settings.h"

#include "quorate/base/number.h"
#include "quorate/params/json.h"

namespace quorate {
namespace {

constexpr std::string_view kWhat = "settings of the desk";

}  // namespace

std::optional<KeepJournal> KeepJournal::parse(std::string_view text) {
  if (text == "all") return KeepJournal{};
  const auto files = parse_number<std::uint64_t>(text);
  return files ? std::optional(KeepJournal{files}) : std::nullopt;
}

std::string to_text(const KeepJournal& keep) { return keep.files ? std::to_string(*keep.files) : "all"; }

std::string DeskOptions::to_json() const { return params_text(*this); }

DeskOptions DeskOptions::from_json(std::string_view text) { return params_of_text<DeskOptions>(text, kWhat); }

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
              {"learning", params_json(learning)},
              {"features", params_json(features)},
              {"reading", params_json(reading)},
              {"desk", params_json(desk)},
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
    out.learning = params_of<LearningOptions>(in.at("learning"), kWhat);
    out.features = params_of<FeatureSettings>(in.at("features"), kWhat);
    out.reading = params_of<ReadOptions>(in.at("reading"), kWhat);
    out.desk = params_of<DeskOptions>(in.at("desk"), kWhat);
    out.secret = in.value("secret", "");
  } catch (const nlohmann::json::exception& e) {
    throw DataError(std::string(kWhat) + ": " + e.what());
  }
  return out;
}

}  // namespace quorate
