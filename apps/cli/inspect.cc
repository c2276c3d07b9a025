// quorate inspect: shows a model file.
#include <iostream>

#include "common.h"
#include "picture.h"
#include "quorate/base/nearest.h"
#include "quorate/learner.h"
#include "quorate/model/explanation.h"
#include "quorate/model/model.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct InspectOptions {
  std::string model, plot, data, task;
  bool json = false, influence = false;
  std::uint64_t tasks = 20, features = 0;
};

/// Tasks with more predictions spoiled than corrected by their peers.
void print_listening(const Session& s, Task K) {
  if (!s.capabilities().peer_benefit) return;
  std::string hurt;
  std::uint64_t number = 0;
  for (Task i = 0; i < s.tasks().size(); ++i) {
    const PeerBenefit l = s.learner().peer_benefit(i);
    if (l.hurt <= l.helped) continue;
    if (++number <= K)
      hurt += "  " + std::string(s.tasks()[i]) + ": " + grouped(l.hurt) + " of its " +
              counted(s.count(i).labels, "labelled prediction") + " spoiled, " + grouped(l.helped) + " corrected\n";
  }
  std::cout << (number == 0 ? "\nno task has more predictions spoiled than corrected by its peers\n"
                            : "\ntasks with more predictions spoiled than corrected by their peers: " + grouped(number) +
                                  "\n" + hurt);
}

/// Between two names: of users and classes, between their tasks of the same class.
double influence(const Session& s, std::uint32_t to, std::uint32_t from) {
  return s.learner().influence(s.first_task(to), s.first_task(from));
}

void print_influence(const Session& s, Task K) {
  std::cout << (s.capabilities().peer_benefit
                    ? "\ninfluence: weight of the column task in the committee of the row task\n"
                    : "\ninfluence: fraction of an update for the column task that is applied to the row task\n");
  std::vector<std::vector<std::string>> rows{{""}};
  for (Task i = 0; i < K; ++i) {
    rows[0].push_back(std::to_string(i + 1));
    rows.push_back({std::to_string(i + 1) + " " + std::string(s.tasks()[i])});
    for (Task j = 0; j < K; ++j) {
      char text[16];
      std::snprintf(text, sizeof text, "%.3f", influence(s, i, j));
      rows.back().push_back(text);
    }
  }
  std::cout << table(rows);
}

Json influence_picture(const Session& s, Task K) {
  const bool listens = s.capabilities().peer_benefit;
  Json out{{"title", listens ? "weights of peers" : "influence of updates"},
           {"column", listens ? "peer" : "task of the update"},
           {"row", listens ? "task" : "task that changes"},
           {"names", Json::array()},
           {"matrix", Json::array()}};
  for (Task i = 0; i < K; ++i) {
    out["names"].push_back(s.tasks()[i]);
    Json& row = out["matrix"].emplace_back(Json::array());
    for (Task j = 0; j < K; ++j) row.push_back(influence(s, i, j));
  }
  return out;
}

/// What becomes of the values of a column of the table that the model learned from; "" if it is no feature.
std::string scale_of(const Model& model, std::size_t column) {
  const Schema& schema = model.featurizer.schema();
  const Learner& learner = model.session.learner();
  const ColumnKind kind = schema.kind(column);
  const auto place = model.featurizer.column_names().find(schema.name(column));
  if (is_number(kind)) return place ? learner.scale_of(1 + *place) : "";
  const FeatureKinds kinds = model.featurizer.kinds();
  if (kind == ColumnKind::kCategory && kinds.categories != FeatureKinds::kNone) return learner.scale_of(kinds.categories);
  return is_feature(kind) && kind != ColumnKind::kDate ? learner.scale_of(1 + kinds.numbers) : "";
}

Json columns_json(const Model& model) {
  Json out = Json::array();
  const Schema& schema = model.featurizer.schema();
  for (std::size_t i = 0; i < schema.size(); ++i)
    out.push_back({{"name", schema.name(i)}, {"kind", word_of(schema.kind(i))}, {"scale", scale_of(model, i)}});
  return out;
}

void print_columns(const Model& model) {
  constexpr std::size_t kMost = 50;
  const Schema& schema = model.featurizer.schema();
  if (schema.empty()) return;
  std::vector<std::vector<std::string>> rows{{"column", "kind", "scale"}};
  for (std::size_t i = 0; i < std::min(schema.size(), kMost); ++i)
    rows.push_back({shown_value(schema.name(i)), std::string(word_of(schema.kind(i))), scale_of(model, i)});
  std::cout << left_table(rows);
  if (schema.size() > kMost) std::cout << "... and " << grouped(schema.size() - kMost) << " more (--json shows all)\n";
  std::cout << "\n";
}

/// The task --task of the model.
std::optional<Task> task_asked_for(const InspectOptions& o, const Model& model) {
  if (o.task.empty()) return {};
  if (!model.reduction.by_task()) throw UsageError("--task " + o.task + ": the model has classes, and no users");
  const Task task = model.session.known_task(o.task);
  if (task != kUntracked) return task;
  const NameTable& tasks = model.session.tasks();
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(tasks.size(), 1000); ++i) names.push_back(tasks[i]);
  throw UsageError("--task " + o.task + ": the model has no such task" + did_you_mean(o.task, names));
}

/// The features that decide, over the examples of --data or the labels that the model keeps.
HeavyFeatures heavy_features(const InspectOptions& o, Model& model) {
  const std::optional<Task> only = task_asked_for(o, model);
  HeavyFeatures out(model);
  if (o.data.empty()) {
    out.add_kept(only);
    if (out.examples() > 0) return out;
    throw DataError(o.model + " keeps no labels that it learned from; expected --data to say over which examples");
  }
  ReadOptions reading = of_model({}, model.featurizer);
  reading.stop = interrupt();
  reading.label_optional = true;
  const auto reader = open_reader(o.data, reading);
  model.featurizer.begin(*reader);
  Record record;
  while (!reading.stop.stop_requested() && reader->next(record)) {
    const std::string_view name = record.task.empty() ? kOnlyTask : record.task;
    const Task task = only ? *only : model.known_task(name);
    out.add(task, model.featurizer(record, false), model.featurizer.names(record));
  }
  if (out.examples() == 0) throw DataError(reader->path() + ": no examples");
  return out;
}

Json features_json(const Model& model, const std::vector<HeavyFeature>& features) {
  Json out = Json::array();
  for (const HeavyFeature& f : features)
    out.push_back({{"feature", f.feature},
                   {"label", model.labels.name(f.label)},
                   {"examples", f.examples},
                   {"contribution", f.contribution},
                   {"shared", f.shared},
                   {"own", f.own}});
  return out;
}

void print_features(const InspectOptions& o, const Model& model, const HeavyFeatures& heavy,
                    const std::vector<HeavyFeature>& features) {
  const auto with_sign = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%+.4f", value);
    return std::string(text);
  };
  std::vector<std::vector<std::string>> rows{{"feature", "label", "examples", "contribution", "shared", "own"}};
  for (const HeavyFeature& f : features) {
    rows.push_back({shown_value(f.feature), shown_value(model.labels.name(f.label)), grouped(f.examples),
                    with_sign(f.contribution), with_sign(f.shared), with_sign(f.own)});
  }
  std::cout << "features that decide most over "
            << (o.data.empty() ? counted(heavy.examples(), "kept label") : counted(heavy.examples(), "example"))
            << (o.task.empty() ? "" : ", with the weights of " + o.task) << "; contributions above 0 speak for the label\n\n"
            << table(rows);
  if (heavy.unnamed()) std::cout << "\n#N: a name that the model does not keep; --data FILE names what its examples have\n";
}

int run(const InspectOptions& o) {
  check_output({"--plot", o.plot}, {{"--model", o.model}});
  check_output({"standard output", "-"}, {{"--model", o.model}});
  if (o.features == 0 && (!o.data.empty() || !o.task.empty()))
    throw UsageError(std::string(o.data.empty() ? "--task" : "--data") + ": for --features; expected both");
  Model model = Model::load(o.model);
  std::vector<HeavyFeature> features;
  if (o.features > 0) {
    HeavyFeatures heavy = heavy_features(o, model);
    features = heavy.top(o.features);
    if (!o.json) {
      print_features(o, model, heavy, features);
      return kDone;
    }
  }
  const Session& s = model.session;
  const FeatureSettings& f = model.featurizer.settings();
  const auto K = static_cast<Task>(std::min<std::uint64_t>(s.tasks().size(), o.tasks));
  if (!o.plot.empty()) draw(o.plot, influence_picture(s, K));
  const Report report(model);
  if (o.json) {
    Json out = to_json(report);
    out["columns"] = columns_json(model);
    out["tasks"] = Json::array();
    out["influence"] = Json::array();
    if (o.features > 0) out["features"] = features_json(model, features);
    for (Task i = 0; i < K; ++i) {
      const TaskCounters c = s.count_of_name(i);
      out["tasks"].push_back({{"task", s.tasks()[i]},
                              {"examples", c.examples},
                              {"labels", c.labels},
                              {"updates", c.updates},
                              {"mistakes", c.mistakes}});
      if (!model.reduction.by_task()) out["tasks"].back()["question"] = model.reduction.question(i);
      Json row = Json::array();
      for (Task j = 0; j < K; ++j) row.push_back(number(influence(s, i, j)));
      if (s.capabilities().peer_benefit) {
        const PeerBenefit benefit = s.learner().peer_benefit(i);
        out["tasks"].back()["hurt_by_listening"] = benefit.hurt;
        out["tasks"].back()["helped_by_listening"] = benefit.helped;
      }
      out["influence"].push_back(std::move(row));
    }
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  const LabelLimits& most = report.limits;
  std::cout << report.learner << "\n"
            << examples_text(model) << "; " << counted(report.bought, "label") << " bought"
            << (most.total != LabelLimits::kNone ? " of at most " + grouped(most.total) : "")
            << (report.even ? ", spent evenly" : "") << (most.rate ? ", at most " + to_text(*most.rate) : "")
            << (most.per_task != LabelLimits::kNone ? ", at most " + grouped(most.per_task) + " for each task" : "")
            << (report.pending > 0 ? ", " + grouped(report.pending) + " of them pending" : "") << "; "
            << counted(report.updates, "update") << "; "
            << (report.support_vectors ? counted(*report.support_vectors, "support vector") + "; " : "")
            << counted(report.model_bytes, "byte")
            << (report.memory_limit ? " of at most " + grouped(*report.memory_limit) : "") << "\n"
            << "input: " << (f.bits > 0 ? "names hashed to " + std::to_string(f.bits) + " bits" : std::string("names kept"))
            << (f.bias ? ", constant feature" : "") << (f.normalize ? ", unit length" : "")
            << (f.ngrams > 1 ? ", up to " + std::to_string(f.ngrams) + " words in a row" : "")
            << (f.char_ngrams > 0 ? ", " + std::to_string(f.char_ngrams) + " letters in a row" : "")
            << (f.binary ? ", each word once" : "") << "; scale: " << report.scale;
  if (report.reduction)
    std::cout << "; " << report.classes.size() << " classes, " << *report.reduction << "\n\n";
  else
    std::cout << "; labels " << report.classes[1] << " and " << report.classes[0] << "\n\n";
  if (report.threshold) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", *report.threshold);
    std::cout << model.labels.word(1) << " is predicted from a probability of " << text << " on\n\n";
  }
  print_columns(model);
  if (report.audit) std::cout << audit_text(*report.audit, report.classes) << "\n";
  std::vector<std::vector<std::string>> rows{
      {std::string(model.reduction.tasks_are()), "examples", "labels", "mistakes on them", "updates"}};
  for (Task i = 0; i < K; ++i) {
    const TaskCounters c = s.count_of_name(i);
    rows.push_back({model.reduction.shown(s.tasks()[i], i), grouped(c.examples), grouped(c.labels), grouped(c.mistakes),
                    grouped(c.updates)});
  }
  std::cout << table(rows);
  if (const std::size_t tasks = s.tasks().size(); tasks > K)
    std::cout << "... and " << grouped(tasks - K) << " more (--tasks N shows N)\n";
  print_listening(s, K);
  if (o.influence || K <= 10) print_influence(s, K);
  return kDone;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  const auto o = std::make_shared<InspectOptions>();
  app.add_option("model,--model", o->model, "model file")->required()->type_name("FILE");
  app.add_option("--tasks", o->tasks, "number of tasks to show")->check(whole(0))->capture_default_str();
  app.add_flag("--influence", o->influence, "show the influence matrix even of more than 10 tasks");
  app.add_option("--features", o->features,
                 "show the N features that decide most instead: over the examples of --data, or the labels that the model "
                 "keeps; with classes N of each class")
      ->check(whole(1));
  app.add_option("--data", o->data, "with --features: examples, labels optional, that say what features are called")
      ->type_name("FILE");
  app.add_option("--task", o->task, "with --features: look at the weights of this task for all examples");
  app.add_option("--plot", o->plot,
                 "draw the influence matrix as .svg, .png or .pdf (needs the Python package and matplotlib)")
      ->type_name("FILE");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(
      "--features: the contribution of a feature to the margin of an example that has it, by its mean size; above 0 if more "
      "of it speaks for the positive label, or the class. shared and own are its parts by the weights of all tasks and by "
      "those of the example's task, or of --task. The largest sum over all examples comes first. A model keeps no words of "
      "texts or categories (unless --bits 0): --data names them; names that meet in one place are joined by /.\n"
      "Example:\n  quorate inspect spam.model --features 20 --data emails.jsonl");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
