// quorate predict: the predictions of a model, one line per example.
#include <algorithm>
#include <functional>
#include <iostream>

#include "common.h"
#include "help.h"
#include "quorate/base/csv.h"
#include "quorate/base/portable_math.h"
#include "quorate/learner.h"
#include "quorate/model/explanation.h"
#include "quorate/model/model.h"
#include "quorate/params/json_object.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct PredictOptions {
  std::string data, model, out = "-", to = "jsonl";
  DataOptions read;
  bool probabilities = false;
  std::optional<double> threshold;
  std::size_t explain = 0;  // reasons of each prediction
  ProgressOptions progress;
};

int run(const PredictOptions& o) {
  const std::stop_token stop = interrupt();
  if (o.out != "-") interrupt_on_closed_pipe();  // of progress; one of results ends the program
  check_output({"--out", o.out}, {{"--model", o.model}, data_file("--data", o.data)});
  Model model = Model::load(o.model);
  ReadOptions reading = of_model(o.read.options(), model.featurizer);
  reading.label_optional = true;  // so that the options of train serve here, too
  std::function<void(const std::string&)> write_bad;
  const bool skips = reading.skip_bad_lines;
  reading.on_bad_line = [&](const std::string& why) { write_bad(why); };
  OutputFile out(o.out);
  const bool csv = o.to == "csv";
  const Learner& learner = model.session.learner();
  if (o.probabilities && !learner.capabilities().calibrated)
    throw UsageError("--probabilities: " + o.model + " holds " + to_text(model.session.spec()) +
                     ", whose margins are not calibrated; expected a learner that is, as cohort");
  if (o.threshold) check_has_threshold(model, o.model, "--threshold");
  if (o.explain > 0) check_explains(model);
  if (o.explain > 0 && csv) throw UsageError("--explain: expected --to jsonl, as reasons do not fit in a CSV line");
  const auto reader = open_reader(o.data, reading);  // waits for the first line
  model.featurizer.begin(*reader);
  const bool tasks = model.reduction.by_task();
  std::string columns = tasks ? "id,task,margin" : "id,margin";
  const bool one_probability = model.threshold().has_value();  // of the positive label
  if (o.probabilities && one_probability) columns += ",probability";
  if (o.probabilities && !one_probability)
    for (const std::string& name : model.labels.names()) columns += "," + csv_quoted("probability_" + name);
  columns += ",label";
  if (skips) columns += ",error";
  if (csv) out.write(columns + "\n");
  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  std::uint64_t with_id = 0, bad = 0;
  UnknownTasks unknown;
  write_bad = [&](const std::string& why) {
    ++bad;
    // A place might be another's id.
    const bool has_ids = with_id > 0 || (seen == 0 && reader->schema().column_of(ColumnKind::kId));
    const std::string id = has_ids ? "" : std::to_string(seen + bad);
    if (csv)
      out.write(csv_quoted(id) + std::string(static_cast<std::size_t>(std::ranges::count(columns, ',')), ',') +
                csv_quoted(why) + "\n");
    else
      out.write(Json{{"id", id.empty() ? Json(nullptr) : Json(id)}, {"error", why}}.dump() + "\n");
  };
  Reduction::Work work;
  {
    const Progress progress_line(
        o.progress, share_read(reader->path(), consumed), [&] { return seen.load(); }, o.out == "-");
    Record record;
    std::string text;
    while (!stop.stop_requested()) {
      try {
        if (!reader->next(record)) break;
      } catch (const LineError&) {
        throw;
      } catch (const DataError&) {
        if (bad == 0) throw;
        break;  // every line was bad
      }
      const std::string id = record.id.empty() ? std::to_string(seen + bad + 1) : std::string(record.id);
      const Features x = model.featurizer(record, false);
      const std::string task(record.task.empty() ? kOnlyTask : record.task);
      with_id += !record.id.empty();
      const Task place = model.known_task(task);
      unknown.add(task, place);
      auto [predicted, margin] = model.predict(place, x, work, o.probabilities);
      if (o.threshold) predicted = logistic(learner.log_odds(margin)) >= *o.threshold;
      const std::string label = model.labels.name(predicted);
      const std::span<const double> probabilities =
          std::span(work.probabilities).subspan(o.probabilities && one_probability ? 1 : 0);
      if (csv) {
        std::string line = csv_quoted(id) + "," + (tasks ? csv_quoted(task) + "," : "") + shortest(margin);
        for (const double p : probabilities) line += "," + shortest(p);
        out.write(line + "," + csv_quoted(label) + (skips ? ",\n" : "\n"));
      } else {
        text.clear();
        JsonObject line(text);
        line.set("id", id);
        if (tasks) line.set("task", task);
        line.set("margin", margin);
        if (o.probabilities && one_probability) line.set("probability", probabilities[0]);
        if (o.probabilities && !one_probability) {
          Json each;
          for (std::size_t c = 0; c < probabilities.size(); ++c) each[model.labels.name(c)] = probabilities[c];
          line.set("probabilities", each);
        }
        line.set("label", label);
        if (o.explain > 0) {
          Json reasons = Json::array();
          for (const Reason& r : explain(model, place, x, model.featurizer.names(record), predicted, o.explain))
            reasons.push_back({{"feature", r.feature},
                               {"value", r.value},
                               {"contribution", r.part.shared + r.part.own},
                               {"shared", r.part.shared},
                               {"own", r.part.own},
                               {"uncertainty", r.part.uncertainty}});
          line.set("reasons", reasons);
        }
        line.close();
        out.write(text += '\n');
      }
      if (o.data == "-") out.flush();  // a program may wait for this prediction
      consumed = reader->consumed();
      ++seen;
    }
  }
  report_skipped(*reader);
  if (const std::string warning = unknown.warning(model); !warning.empty())
    std::cerr << "quorate: " << reader->path() << ": " << warning << "\n";
  if (stop.stop_requested()) {
    std::cerr << "quorate: interrupted after example " << grouped(seen)
              << (o.out == "-" ? "\n" : "; " + o.out + " is not written\n");
    return kInterrupted;
  }
  out.commit();
  return kDone;
}

}  // namespace

Command add_predict(CLI::App& app) {
  const auto o = std::make_shared<PredictOptions>();
  app.add_option("--data", o->data, "file of examples, labels optional; - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--model", o->model, "model file")->required()->type_name("FILE");
  app.add_option("--out", o->out, "file to write; - for standard output")->capture_default_str()->type_name("FILE");
  choose(app.add_option("--to", o->to, "format of the predictions"), {"jsonl", "csv"})->capture_default_str();
  app.add_flag(
      "--probabilities", o->probabilities,
      "add the calibrated probability of the positive label, or of each class (learners that calibrate, as cohort)");
  app.add_option("--threshold", o->threshold,
                 "probability from which the positive label is predicted (default: as the model's cost= says; quorate "
                 "evaluate --thresholds compares some)")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P");
  app.add_option("--explain", o->explain,
                 "add the N features that decided most, by name, with what each brought to the margin")
      ->check(whole(1));
  o->progress.add(app);
  o->read.add(app, false);
  app.footer(
      "Each line has the example's id (or its place in the file), task, margin and predicted label; with --on-error skip an "
      "unreadable line has an error instead. With classes there is no task "
      "unless the model has users, and the margin is that of the predicted class: its own (one-vs-rest) or the sum of those "
      "against the others (one-vs-one). Users that the model does not know, and examples without one, are predicted with "
      "the "
      "weights that all users share.\nProbabilities of classes sum to 1: columns probability_CLASS in CSV, the key "
      "probabilities in JSON. "
      "One-vs-rest: proportional to that of each class against the rest; one-vs-one: to 1 / (1 + the sum of the odds of "
      "the others against the class). The predicted class has the largest.\n--explain adds "
      "the key reasons: each feature's name and value in the data, its contribution to the margin (above 0: towards the "
      "positive label, or the predicted class), the part of it by shared weights and the part by the task's own "
      "weights, and its part of the uncertainty.\nExample:\n  quorate "
      "predict --model spam.model --data new.jsonl --to csv");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
