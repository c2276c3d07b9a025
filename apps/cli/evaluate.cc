// quorate evaluate: how good a saved model is on labelled data, per task and overall. The model does not change.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>

#include "common.h"
#include "quorate/base/portable_math.h"
#include "quorate/experiments/measures.h"
#include "quorate/learner.h"
#include "quorate/metrics/metrics.h"
#include "quorate/metrics/statistics.h"
#include "quorate/model/model.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct EvaluateOptions {
  std::string data, model;
  DataOptions read;
  bool per_task = false, json = false, thresholds = false;
  std::optional<double> threshold;
  ProgressOptions progress;
};

/// A labelled example and what the model said of it.
struct Judged {
  std::size_t truth, predicted;  // labels
  double margin, probability;    // of the positive label, or of the predicted class; NaN if margins are not calibrated
};

/// A measure with its 95 % interval, whose ends are NaN where there are too few examples.
struct Measured {
  std::string name;
  double value, low, high;
};

/// Wilson's interval of a share.
Measured share(const std::string& name, double right, double all) {
  if (!(all > 0)) return {name, NAN, NAN, NAN};
  constexpr double z = 1.959963984540054;
  const double p = right / all, middle = (p + z * z / (2 * all)) / (1 + z * z / all),
               half = z * std::sqrt(p * (1 - p) / all + z * z / (4 * all * all)) / (1 + z * z / all);
  return {name, p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

/// All measures of the examples outside of group `without` (those whose number is that modulo `groups`).
NamedMeasures measures_of(const std::vector<Judged>& all, const Reduction& reduction, std::size_t groups,
                          std::size_t without) {
  NamedMeasures out;
  Scores scores;
  ClassConfusion confusion(reduction.size());
  Reliability reliability;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (n % groups == without) continue;
    const Judged& j = all[n];
    confusion.add(j.truth, j.predicted);
    if (!reduction.has_classes()) scores.add(j.truth == 1 ? 1 : -1, j.margin);
    if (!std::isnan(j.probability)) reliability.add(j.truth == reduction.towards(j.predicted) ? 1 : -1, j.probability);
  }
  if (reduction.has_classes()) {
    out = measures(confusion.measures());
    out.resize(3);  // the others are of a ranking
  } else {
    out = measures(scores.measures());
    const Confusion& c = scores.confusion();
    const auto part = [](std::uint64_t right, std::uint64_t wrong) {
      return static_cast<double>(right) / static_cast<double>(right + wrong);  // NaN of none
    };
    out.emplace_back("precision", part(c.true_positive, c.false_positive));
    out.emplace_back("recall", part(c.true_positive, c.false_negative));
  }
  if (reliability.examples() > 0) {
    out.emplace_back("brier", reliability.brier());
    out.emplace_back("calibration_error", reliability.error());
  }
  return out;
}

/// The measures with their intervals: Wilson's of the accuracy, of the others by a jackknife that leaves out groups.
std::vector<Measured> measured(const std::vector<Judged>& all, const Reduction& reduction) {
  constexpr std::size_t kNone = ~std::size_t{0};
  const std::size_t groups = std::min<std::size_t>(all.size() > 200'000 ? 10 : 40, all.size());
  std::vector<Measured> out;
  for (const auto& [name, value] : measures_of(all, reduction, 1, kNone)) out.push_back({name, value, NAN, NAN});
  const auto right = std::count_if(all.begin(), all.end(), [](const Judged& j) { return j.truth == j.predicted; });
  out[0] = share("accuracy", static_cast<double>(right), static_cast<double>(all.size()));
  if (groups < 10) return out;
  std::vector<std::vector<double>> without(out.size());
  for (std::size_t g = 0; g < groups; ++g) {
    const NamedMeasures m = measures_of(all, reduction, groups, g);
    for (std::size_t i = 0; i < m.size(); ++i) without[i].push_back(m[i].second);
  }
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (!std::all_of(without[i].begin(), without[i].end(), [](double v) { return std::isfinite(v); })) continue;
    const auto n = static_cast<double>(groups);
    const double deviation = summary(without[i]).deviation * (n - 1) / std::sqrt(n),
                 half = t_quantile(groups - 1) * deviation;
    out[i].low = std::max(0.0, out[i].value - half);
    out[i].high = std::min(out[i].name == "lift" ? 10.0 : 1.0, out[i].value + half);
  }
  return out;
}

Json json_of(const std::vector<Measured>& all) {
  Json out = Json::object();
  for (const Measured& m : all) out[m.name] = {{"value", number(m.value)}, {"low", number(m.low)}, {"high", number(m.high)}};
  return out;
}

std::string text_of(double value) {
  if (!std::isfinite(value)) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.4f", value);
  return out;
}

ClassConfusion confusion_of(const std::vector<Judged>& all, std::size_t labels) {
  ClassConfusion out(labels);
  for (const Judged& j : all) out.add(j.truth, j.predicted);
  return out;
}

Json json_of(const ClassConfusion& confusion) {
  Json out = Json::array();
  for (std::size_t truth = 0; truth < confusion.classes(); ++truth) {
    out.push_back(Json::array());
    for (std::size_t c = 0; c < confusion.classes(); ++c) out.back().push_back(confusion(truth, c));
  }
  return out;
}

/// What a threshold on the probability would do.
struct AtThreshold {
  double threshold, recall, precision, balanced_accuracy, alarms;  // alarms: predicted as positive, of 1,000
};
std::vector<AtThreshold> at_thresholds(const std::vector<Judged>& all) {
  std::vector<AtThreshold> out;
  for (const double t : {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}) {
    Confusion c;
    for (const Judged& j : all) c.add(j.truth == 1 ? 1 : -1, j.probability >= t ? 1 : -1);
    const auto flagged = static_cast<double>(c.true_positive + c.false_positive),
               positive = static_cast<double>(c.true_positive + c.false_negative),
               right = static_cast<double>(c.true_positive);
    out.push_back(
        {t, right / positive, right / flagged, c.balanced_accuracy(), 1000 * flagged / static_cast<double>(c.total())});
  }
  return out;
}

void print_confusion(const ClassConfusion& confusion, const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> rows{{"label", "recall", "F1"}};
  const bool columns = names.size() <= 16;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (columns) rows[0].push_back(names[c]);
    rows.push_back({names[c], percent(confusion.recall(c)), text_of(confusion.f1(c))});
    for (std::size_t p = 0; p < names.size() && columns; ++p) rows.back().push_back(grouped(confusion(c, p)));
  }
  std::cout << "\nrows: true label, columns: predicted label\n" << table(rows);
}

/// The examples with a label, judged, and how many there were of the others.
struct Judgements {
  std::vector<Judged> all;
  std::map<std::string, std::vector<Judged>> of_task;  // with --per-task, of models with tasks
  std::uint64_t unlabelled = 0;
  UnknownTasks unknown;
};

Judgements judge(const EvaluateOptions& o, const Model& model, ExampleReader& examples) {
  const std::stop_token stop = interrupt();
  const Learner& learner = model.session.learner();
  const Reduction& reduction = model.reduction;
  const bool calibrated = learner.capabilities().calibrated, tasks = reduction.by_task();
  Judgements out;
  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  {
    const Progress progress_line(o.progress, share_read(examples.path(), consumed), [&] { return seen.load(); });
    Reduction::Work work;
    ExampleReader::Item item;
    while (!stop.stop_requested() && examples.next(item)) {
      ++seen;
      consumed = examples.consumed();
      if (!item.label.known()) {
        ++out.unlabelled;
        continue;
      }
      const Task place = model.known_task(item.task);
      out.unknown.add(item.task, place);
      const auto [said, margin] = model.predict(place, item.x, work, true);
      Judged j{reduction.number_of(item.label), said, margin,
               calibrated ? work.probabilities[reduction.towards(said)] : NAN};
      if (o.threshold) {  // the same order, and 0 where the threshold is
        const double t = std::clamp(*o.threshold, 1e-12, 1 - 1e-12);
        j.margin = learner.log_odds(margin) - std::log(t / (1 - t));
        j.predicted = predicted(j.margin) == kYes;
      }
      out.all.push_back(j);
      if (o.per_task && tasks) out.of_task[std::string(item.task)].push_back(j);
    }
  }
  report_skipped(examples);
  if (stop.stop_requested()) throw Interrupted("interrupted after example " + grouped(seen));
  if (out.all.empty())
    throw DataError(examples.path() + ": none of " + counted(seen, "example") +
                    " has a label; expected --label-column to name theirs");
  return out;
}

/// What is said of the judgements.
struct Evaluation {
  std::vector<Measured> measures;
  std::vector<std::string> names;  // of the labels
  ClassConfusion confusion;
  std::size_t most = 0;  // the most frequent label
  double always = 0;     // the accuracy of always answering it
  std::optional<double> threshold;
};

Json json_of(const EvaluateOptions& o, const Model& model, const Judgements& judged, const Evaluation& e,
             std::uint64_t skipped) {
  Json out{{"model", o.model},
           {"learner", to_text(model.session.spec())},
           {"examples", judged.all.size()},
           {"unlabelled", judged.unlabelled},
           {"of_unknown_tasks", judged.unknown.examples()},
           {"skipped_lines", skipped},
           {"measures", json_of(e.measures)},
           {"labels", e.names},
           {"confusion", json_of(e.confusion)},
           {"always", {{"label", e.names[e.most]}, {"accuracy", e.always}}},
           {"threshold", e.threshold ? Json(*e.threshold) : Json(nullptr)}};
  if (o.thresholds) {
    out["thresholds"] = Json::array();
    for (const AtThreshold& t : at_thresholds(judged.all))
      out["thresholds"].push_back({{"threshold", t.threshold},
                                   {"recall", number(t.recall)},
                                   {"precision", number(t.precision)},
                                   {"balanced_accuracy", number(t.balanced_accuracy)},
                                   {"alarms_per_1000", t.alarms}});
  }
  if (o.per_task && model.reduction.by_task()) {
    out["tasks"] = Json::object();
    for (const auto& [name, of_task] : judged.of_task)
      out["tasks"][name] = {{"examples", of_task.size()},
                            {"measures", json_of(measured(of_task, model.reduction))},
                            {"confusion", json_of(confusion_of(of_task, e.names.size()))}};
  }
  return out;
}

void print_tasks(const Judgements& judged, const Reduction& reduction, const std::vector<std::string>& names) {
  const bool ranked = !reduction.has_classes();
  std::vector<std::vector<std::string>> rows{
      {"task", "examples", "accuracy", "95 % interval", "balanced", "F1", ranked ? "AUC" : ""}};
  for (const auto& [name, of_task] : judged.of_task) {
    const NamedMeasures m = measures_of(of_task, reduction, 1, ~std::size_t{0});
    const auto right = std::count_if(of_task.begin(), of_task.end(), [](const Judged& j) { return j.truth == j.predicted; });
    const Measured accuracy = share("accuracy", static_cast<double>(right), static_cast<double>(of_task.size()));
    rows.push_back({name, grouped(of_task.size()), percent(accuracy.value),
                    text_of(accuracy.low) + " to " + text_of(accuracy.high), text_of(m[1].second), text_of(m[2].second),
                    ranked ? text_of(m[3].second) : ""});
  }
  std::cout << "\n" << table(rows);
  if (ranked) return;
  for (const auto& [name, of_task] : judged.of_task) {
    std::cout << "\n" << name << ":";
    print_confusion(confusion_of(of_task, names.size()), names);
  }
}

void print(const EvaluateOptions& o, const Model& model, const Judgements& judged, const Evaluation& e) {
  std::cout << o.model << ": " << to_text(model.session.spec()) << "\n" << counted(judged.all.size(), "example");
  if (judged.unlabelled > 0) std::cout << ", " << grouped(judged.unlabelled) << " without a label left out";
  std::cout << "\n\n";
  std::vector<std::vector<std::string>> rows{{"", "value", "95 % interval"}};
  for (const Measured& m : e.measures)
    rows.push_back({m.name, text_of(m.value), std::isfinite(m.low) ? text_of(m.low) + " to " + text_of(m.high) : "-"});
  std::cout << table(rows) << always_text(e.names[e.most], e.always) << "\n";
  if (e.threshold) std::cout << e.names[1] << " is predicted from a probability of " << text_of(*e.threshold) << " on\n";
  print_confusion(e.confusion, e.names);
  if (o.thresholds) {
    rows = {{e.names[1] + " from", "recall", "precision", "balanced", "of 1,000"}};
    for (const AtThreshold& t : at_thresholds(judged.all)) {
      char from[16], alarms[32];
      std::snprintf(from, sizeof from, "%.2f", t.threshold);
      std::snprintf(alarms, sizeof alarms, "%.1f", t.alarms);
      rows.push_back({from, percent(t.recall), percent(t.precision), percent(t.balanced_accuracy), alarms});
    }
    std::cout << "\n" << table(rows);
  }
  if (o.per_task && model.reduction.by_task()) print_tasks(judged, model.reduction, e.names);
}

int run(const EvaluateOptions& o) {
  check_output({"standard output", "-"}, {{"--model", o.model}, data_file("--data", o.data)});
  Model model = Model::load(o.model);
  ReadOptions reading = o.read.options();
  reading.labelled = true;
  ExampleReader examples(o.data, reading, model.featurizer, model.labels);
  if (o.threshold) check_has_threshold(model, o.model, "--threshold");
  if (o.thresholds) check_has_threshold(model, o.model, "--thresholds");
  const Judgements judged = judge(o, model, examples);
  const auto warn = [&](const std::string& what) { std::cerr << "quorate: " << examples.path() << ": " << what << "\n"; };
  if (model.labels.other_words())
    warn("none of " + counted(judged.all.size(), "labelled example") + " " + model.labels.no_positive());
  if (const std::string unmet = examples.unmet(); !unmet.empty()) warn(unmet);
  if (const std::string unknown = judged.unknown.warning(model); !unknown.empty()) warn(unknown);
  const std::vector<std::string> names = model.labels.names();
  Evaluation e{.measures = measured(judged.all, model.reduction),
               .names = names,
               .confusion = confusion_of(judged.all, names.size()),
               .threshold = o.threshold ? o.threshold : model.threshold()};
  for (std::size_t c = 1; c < e.confusion.classes(); ++c)
    if (e.confusion.count(c) > e.confusion.count(e.most)) e.most = c;
  e.always = static_cast<double>(e.confusion.count(e.most)) / static_cast<double>(judged.all.size());
  if (o.json)
    std::cout << json_of(o, model, judged, e, examples.skipped()).dump(2) << "\n";
  else
    print(o, model, judged, e);
  return kDone;
}

}  // namespace

Command add_evaluate(CLI::App& app) {
  const auto o = std::make_shared<EvaluateOptions>();
  app.add_option("--data", o->data, "labelled file; - for standard input")->required()->type_name("FILE");
  app.add_option("--model", o->model, "model file")->required()->type_name("FILE");
  app.add_flag("--per-task", o->per_task, "also the measures of every task; with classes and users, the confusion of each");
  app.add_flag("--thresholds", o->thresholds,
               "also recall, precision and the number of positives predicted, for some thresholds on the probability");
  app.add_option("--threshold", o->threshold, "probability from which the positive label is predicted, as in predict")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P");
  app.add_flag("--json", o->json, "print one JSON document");
  o->progress.add(app);
  o->read.add(app);
  app.footer(
      "95 % intervals: Wilson's for accuracies, for other measures a jackknife over 40 groups of examples.\nExample:\n  "
      "quorate "
      "evaluate --model spam.model --data held-out.csv --per-task");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
