#include "desk_options.h"

#include <filesystem>
#include <utility>

#include "common.h"
#include "help.h"
#include "options.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"
#include "server/service.h"

namespace quorate::cli {
namespace {

const std::initializer_list<std::string_view> kNotLearning{"rounds", "labels-per-round"};
const std::initializer_list<std::string_view> kNotReading{"format", "cache", "delimiter"};

bool given(const CLI::App& app, const char* option) { return app.get_option(option)->count() > 0; }

/// Throws UsageError for an option that the folder has otherwise.
void check_options(const DeskFolder& o, const DeskSettings& is) {
  const CLI::App& app = *o.app;
  LearningOptions learning = o.settings.learning;
  learning.labels = is.learning.labels;  // looked at below
  check_unchanged(app, learning, is.learning, o.dir, kNotLearning);
  check_unchanged(app, o.settings.features, is.features, o.dir);
  check_unchanged(app, o.settings.reading, is.reading, o.dir, kNotReading);
  const auto check = [&](const char* option, const std::string& now, const std::string& then) {
    if (given(app, option) && now != then)
      throw UsageError(std::string(option) + " " + now + " cannot be changed in a folder that exists: " + o.dir +
                       (then.empty() ? " was made without it" : " has " + then) + "; leave it out");
  };
  const auto listed = [](const TextList& names) {
    std::string out;
    for (const auto& name : names) out += (out.empty() ? "" : ",") + name;
    return out;
  };
  if (const auto& now = o.settings.learning.labels, &then = is.learning.labels; given(app, "--labels") && now != then) {
    const auto is_total = [](const TextList& labels) {
      return labels.size() == 1 && labels[0].find_first_not_of("0123456789") == std::string::npos;
    };
    throw UsageError("--labels " + listed(now) + " cannot be changed in a folder that exists: " + o.dir + " was made " +
                     (then.empty() ? "without it" : "with " + listed(then)) + "; leave it out" +
                     (is_total(now) ? ", and send PUT /v1/limits to the server for another total" : ""));
  }
  check("--learner", to_text(canonical(parse_spec(o.settings.learner))), to_text(canonical(parse_spec(is.learner))));
  check("--positive", o.settings.positive, is.positive);
  check("--negative", o.settings.negative, is.negative);
  check("--classes", listed(o.settings.classes), listed(is.classes));
  check("--reduction", o.settings.reduction, is.reduction);
}

void check_new(const DeskFolder& o) {
  const DeskSettings& s = o.settings;
  if (s.classes.empty() && (s.positive.empty() || s.negative.empty()))
    throw UsageError(
        "--positive and --negative, or --classes: expected the labels that annotators choose from, as "
        "--positive spam --negative ham");
  if (!s.classes.empty() && !(s.positive.empty() && s.negative.empty()))
    throw UsageError("--classes and --positive: expected one of them");
}

}  // namespace

void DeskFolder::set(server::ServiceOptions& options) {
  if (dir.empty()) throw UsageError("--dir is required: the folder that keeps everything");
  DeskOptions& desk = settings.desk;
  for (std::string* path : {&desk.guidelines, &desk.archive})  // the next start may be made elsewhere
    if (!path->empty()) *path = std::filesystem::absolute(*path).lexically_normal().string();
  if (!desk.guidelines.empty()) read_file(desk.guidelines);  // throws now rather than at the first look
  options.dir = dir;
  if (const auto existing = server::Service::settings_of(dir)) {
    check_options(*this, *existing);
    options.change = [this](DeskOptions now) {
      for_each_field<DeskOptions>({}, [&](const auto& field) {
        if (given(*app, flag_of(field, DeskOptions{}.*(field.member)).c_str()))
          now.*(field.member) = settings.desk.*(field.member);
      });
      return now;
    };
    return;
  }
  check_new(*this);
  options.settings = settings;
}

void DeskFolder::add(CLI::App& command) {
  app = &command;
  command.add_option("--dir", dir, "folder that keeps events, snapshots and tokens: created, or continued if it exists")
      ->type_name("FOLDER");
  command.add_option("--learner", settings.learner, "learner and parameters; quorate describe lists them")
      ->capture_default_str()
      ->type_name("LEARNER");
  command.add_option("--positive", settings.positive, "label that means +1")->type_name("LABEL");
  command.add_option("--negative", settings.negative, "label that means -1")->type_name("LABEL");
  command
      .add_option_function<std::string>(
          "--classes", [this](const std::string& text) { settings.classes = names_in(text); },
          "labels of two or more classes, as a,b,c, instead of --positive and --negative")
      ->type_name("LABELS");
  choose(command.add_option("--reduction", settings.reduction, "with --classes: a binary task for each class or each pair"),
         {"one-vs-rest", "one-vs-one"})
      ->capture_default_str();
  add_options(command, settings.desk);
  command.get_option("--guidelines")->type_name("FILE");
  command.get_option("--archive")->type_name("FOLDER");
  {
    const InGroup group(command, kLearning);
    add_options(command, settings.learning, kNotLearning);
  }
  {
    const InGroup group(command, kReading);
    add_options(command, settings.reading, kNotReading);
  }
  {
    const InGroup group(command, kFeatures);
    add_options(command, settings.features);
  }
}

void add_kafka_settings(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option("--kafka", settings,
                  "setting of librdkafka, as security.protocol=SASL_SSL or sasl.password=..; repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

kafka::Settings kafka_settings(const std::vector<std::string>& settings) {
  kafka::Settings out;
  for (const auto& text : settings) {
    const auto at = text.find('=');
    if (at == text.npos || at == 0)
      throw UsageError("--kafka " + quoted_value(text) + ": expected KEY=VALUE, as security.protocol=SSL");
    out.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return out;
}

std::function<void(const std::string&)> waits_for_broker(std::function<void(std::string_view)> log) {
  return [log = std::move(log), said = false](const std::string& why) mutable {
    if (interrupt().stop_requested()) throw Interrupted("interrupted before the broker answered");
    if (!std::exchange(said, true)) log(why + "; waits for it up to 10 s");
  };
}

}  // namespace quorate::cli
