// quorate labels: the labels that a model bought and keeps, as data; how well it predicts those that it did not learn from.
#include <cmath>
#include <iostream>

#include "common.h"
#include "help.h"
#include "quorate/base/csv.h"
#include "quorate/base/portable_math.h"
#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "quorate/model/quality.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"

namespace quorate::cli {
namespace {

struct LabelsOptions {
  std::string model, out = "-", to = "csv";
  std::uint64_t folds = 0;
  bool json = false;
};

Json features_json(const Model& model, const Features& x) {
  const NameTable& columns = model.featurizer.column_names();
  Json out = Json::object();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Index index = x.at(k);
    if (index == 0 || x.value[k] == 0) continue;  // the constant feature
    const bool column = index <= columns.size();
    out[column ? std::string(columns[index - 1]) : "#" + std::to_string(index - 1)] = x.value[k] * x.norm;
  }
  return out;
}

void write(const LabelsOptions& o, const Model& model) {
  const KeptLabels& labels = model.session.labels();
  OutputFile out(o.out);
  const bool csv = o.to == "csv";
  if (csv) out.write("id,example,task,question,label,audit,margin,probability,time,annotator\n");
  UnpackedInstance memory;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const KeptLabel& label = labels[i];
    const Example e = labels.example(i, memory);
    const std::string task(model.session.name_of(e.task)), answer = model.answer_word(label.answer());
    const std::optional<std::string> question = model.question(e);
    const std::string annotator(labels.annotator(label));
    const bool timed = std::isfinite(label.time);
    if (csv) {
      out.write(std::to_string(label.id) + "," + csv_quoted(labels.example_id(i)) + "," + csv_quoted(task) + "," +
                csv_quoted(question.value_or("")) + "," + csv_quoted(answer) + "," + (label.audit != 0 ? "yes" : "no") +
                "," + shortest(label.margin) + "," + shortest(label.probability) + "," +
                (timed ? shortest(label.time) : "") + "," + csv_quoted(annotator) + "\n");
    } else {
      out.write(Json{{"id", label.id},
                     {"example", labels.example_id(i)},
                     {"task", task},
                     {"question", question ? Json(*question) : Json(nullptr)},
                     {"label", answer},
                     {"audit", label.audit != 0},
                     {"margin", label.margin},
                     {"probability", label.probability},
                     {"time", timed ? Json(label.time) : Json(nullptr)},
                     {"annotator", annotator.empty() ? Json(nullptr) : Json(annotator)},
                     {"x", features_json(model, e.x)}}
                    .dump() +
                "\n");
    }
  }
  out.commit();
  if (const std::uint64_t gone = labels.next_id() - labels.size(); gone > 0)
    std::cerr << "quorate: " << grouped(gone) << " of " << counted(labels.next_id(), "label")
              << " not kept: taken back, forgotten, or left out for want of room (train --keep-labels)\n";
}

/// Each kept label is predicted by a model that is rebuilt without its fold.
int cross_validate(const LabelsOptions& o, const Model& model) {
  const KeptLabels& labels = model.session.labels();
  std::vector<std::size_t> used;
  UnpackedInstance memory;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i].audit == 0 && labels[i].answer() != kNeither) used.push_back(i);
  if (used.size() < o.folds)
    throw DataError(o.model + ": " + counted(used.size(), "label") + " to learn from; expected at least --cross-validate " +
                    std::to_string(o.folds));
  const std::string bytes = model.to_bytes();
  QualityCount asked{Reduction()}, stream{Reduction()};  // of questions, with classes too
  for (std::uint64_t fold = 0; fold < o.folds; ++fold) {
    if (interrupt().stop_requested()) throw Interrupted("interrupted");
    Model without = Model::from_bytes(bytes);
    std::vector<std::uint64_t> ids;
    for (std::size_t n = fold; n < used.size(); n += o.folds) ids.push_back(labels[used[n]].id);
    without.session.undo(ids);
    without.session.check_none_left_out();
    for (std::size_t n = fold; n < used.size(); n += o.folds) {
      const KeptLabel& label = labels[used[n]];
      const double margin = without.session.learner().score(labels.example(used[n], memory));
      const std::size_t truth = label.answer() == kYes, said = predicted(margin) == kYes;
      asked.add(truth, said, margin, 1);
      stream.add(truth, said, margin, 1 / std::max(label.probability, 1e-6));
    }
  }
  const Quality of_asked = asked.quality(), of_stream = stream.quality();
  const std::vector<std::string> names{model.answer_word(kNo), model.answer_word(kYes)};
  if (o.json) {
    const auto document = [&](const Quality& quality) {
      Json out = Json::object();
      quality.for_each([&](const char* name, const Estimate& of) {
        out[name] = {{"value", number(of.value)}, {"low", number(of.low)}, {"high", number(of.high)}};
      });
      out["always"] = {{"label", names[quality.most_frequent]}, {"accuracy", number(quality.always)}};
      return out;
    };
    std::cout << Json{{"folds", o.folds},
                      {"labels", used.size()},
                      {"asked", document(of_asked)},
                      {"stream", document(of_stream)}}
                     .dump(2)
              << "\n";
    return kDone;
  }
  std::vector<std::vector<std::string>> rows{{"95 % intervals", "what was asked", "the stream"}};
  std::vector<std::string> of_rows[2];
  for (const Quality* quality : {&of_asked, &of_stream})
    quality->for_each([&](const char* name, const Estimate& of) {
      if (quality == &of_asked) of_rows[0].emplace_back(name);
      of_rows[1].push_back(interval(of));
    });
  for (std::size_t i = 0; i < of_rows[0].size(); ++i) {
    std::string name = of_rows[0][i];
    std::ranges::replace(name, '_', ' ');
    if (name == "recall" || name == "precision") name += " of " + names[1];
    rows.push_back({name, of_rows[1][i], of_rows[1][of_rows[0].size() + i]});
  }
  rows.push_back({"always " + names[of_asked.most_frequent], percent(of_asked.always),
                  of_asked.most_frequent == of_stream.most_frequent
                      ? percent(of_stream.always)
                      : percent(of_stream.always) + " (" + names[of_stream.most_frequent] + ")"});
  std::cout << counted(used.size(), "label") << " in " << counted(o.folds, "fold")
            << ", each predicted by a model without its fold; for the stream each counts 1 / the probability of asking\n\n"
            << table(rows);
  return kDone;
}

int run(const LabelsOptions& o) {
  check_output({"--out", o.out}, {{"model", o.model}});
  const Model model = Model::load(o.model);
  if (!model.session.labels().keeps())
    throw DataError(o.model + ": keeps no labels; expected a model that was made with --keep-labels above 0");
  if (o.folds > 0) return cross_validate(o, model);
  write(o, model);
  return kDone;
}

}  // namespace

Command add_labels(CLI::App& app) {
  const auto o = std::make_shared<LabelsOptions>();
  app.add_option("model,--model", o->model, "model file")->required()->type_name("FILE");
  app.add_option("--out", o->out, "file to write; - for standard output")->capture_default_str()->type_name("FILE");
  choose(app.add_option("--to", o->to, "format; jsonl also has the features"), {"csv", "jsonl"})->capture_default_str();
  app.add_option("--cross-validate", o->folds,
                 "instead, predict each label by a model that is rebuilt without it and the others of its fold, of N folds")
      ->check(whole(2));
  app.add_flag("--json", o->json, "print the result of --cross-validate as JSON");
  app.footer(
      "Each line has the label's id (which quorate rebuild --undo takes), task, question (of classes), label, whether it "
      "was bought for an audit, the margin and the probability of asking when it was asked, and, if they are known, its "
      "time "
      "and its annotator.\nExample:\n  quorate labels spam.model --to jsonl --out bought.jsonl");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
