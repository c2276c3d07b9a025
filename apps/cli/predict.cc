// quorate predict: what a model says, an example a line.
#include <iostream>

#include "common.h"
#include "quorate/base/csv.h"
#include "quorate/base/portable_math.h"
#include "quorate/engine/model.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, model, out = "-", to = "jsonl";
  DataOptions read;
  bool probabilities = false;
  ProgressOptions progress;
};

int run(const Options& o) {
  const std::stop_token stop = interrupt();
  Model model = Model::load(o.model);
  const auto reader = open_reader(o.data, o.read.options());
  model.featurizer.begin(*reader);
  OutputFile out(o.out);
  const bool csv = o.to == "csv";
  if (o.probabilities && (model.classes || !model.session.learner().capabilities().calibrated))
    throw UsageError("--probabilities: " + o.model + " holds " + to_text(model.session.spec()) +
                     (model.classes ? " for classes; expected a model of binary labels"
                                    : ", whose margins are not calibrated; expected a learner that is, as cohort"));
  const std::string columns =
      std::string(model.classes ? "id,margin" : "id,task,margin") + (o.probabilities ? ",probability" : "") + ",label\n";
  if (csv) out.write(columns);
  std::vector<double> margins(model.classes ? model.classes->tasks() : 0);
  Classes::Ballot ballot;
  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  {
    const Progress progress_line(
        o.progress, share_read(reader->path(), consumed), [&] { return seen.load(); }, o.out == "-");
    Record record;
    while (!stop.stop_requested() && reader->next(record)) {
      const std::string id = record.id.empty() ? std::to_string(seen + 1) : std::string(record.id);
      const Features x = model.featurizer(record, false);
      const Learner& learner = model.session.learner();
      std::string task, label;
      double margin = 0;
      if (model.classes) {
        for (Task t = 0; t < margins.size(); ++t) margins[t] = learner.score({t, x});
        const Classes::Prediction p = model.classes->predict(margins, ballot);
        margin = p.margin;
        label = model.classes->name(p.index);
      } else {
        task = record.task.empty() ? kOnlyTask : record.task;
        margin = learner.score({model.session.known_task(task), x});
        label = model.labels.word(predicted(margin));
      }
      if (csv) {
        out.write(csv_quoted(id) + "," + (model.classes ? "" : csv_quoted(task) + ",") + shortest(margin) + "," +
                  (o.probabilities ? shortest(logistic(learner.log_odds(margin))) + "," : "") + csv_quoted(label) + "\n");
      } else {
        Json line{{"id", id}};
        if (!model.classes) line["task"] = task;
        line["margin"] = margin;
        if (o.probabilities) line["probability"] = logistic(learner.log_odds(margin));
        line["label"] = label;
        out.write(line.dump() + "\n");
      }
      if (o.data == "-") out.flush();  // somebody may be waiting for this answer
      consumed = reader->consumed();
      ++seen;
    }
  }
  report_skipped(*reader);
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
  const auto o = std::make_shared<Options>();
  app.add_option("--data", o->data, "file of examples, labels not needed; - for standard input")->required();
  app.add_option("--model", o->model, "model file")->required();
  app.add_option("--out", o->out, "file to write; - for standard output")->capture_default_str();
  app.add_option("--to", o->to, "jsonl or csv")->check(CLI::IsMember({"jsonl", "csv"}))->capture_default_str();
  app.add_flag("--probabilities", o->probabilities,
               "the chance of the positive label, too, calibrated on the labels bought (cohort)");
  o->progress.add(app);
  o->read.add(app);
  app.footer(
      "Each line has the example's id (its number if it has none), task, margin and predicted label. Of classes there is no "
      "task, and the margin is that of the class: its own (one-vs-rest) or the sum of those against the others "
      "(one-vs-one).\nExample:\n  quorate "
      "predict --model spam.model --data new.jsonl --to csv");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
