// quorate train: a model from a stream, or more of it.
#include <filesystem>
#include <iostream>
#include <optional>

#include "common.h"
#include "quorate/registry.h"
#include "quorate/run/examples.h"
#include "quorate/run/model.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, model, learner;
  DataOptions read;
  FeatureOptions features;
  std::optional<std::uint64_t> labels;
  std::uint64_t seed = 1, skip = 0;
  bool json = false, quiet = false;
  bool features_given = false;
};

Model open_model(const Options& o) {
  if (std::filesystem::exists(o.model)) {
    Model model = Model::load(o.model);
    if (!o.learner.empty() && to_text(canonical(parse_spec(o.learner))) != to_text(model.session.spec()))
      throw UsageError(o.model + " holds the learner " + to_text(model.session.spec()) + ", not " + o.learner +
                       "; leave out --learner to go on with it");
    if (o.features_given)
      throw UsageError(o.model +
                       " says how its data are read; expected none of --positive, --bits, --bigrams, --binary, --no-bias, "
                       "--no-normalize, --seed");
    if (o.labels) model.session.set_label_limit(*o.labels);
    return model;
  }
  if (o.learner.empty()) throw UsageError(o.model + " does not exist; expected --learner to make it (see quorate describe)");
  return {Session(parse_spec(o.learner), o.seed, o.labels.value_or(LabelBudget::kNone)), Featurizer(o.features.settings),
          Labels(o.features.positive)};
}

int run(const Options& o) {
  if (o.model == "-") throw UsageError("--model -: expected a file");
  const std::stop_token stop = interrupt();
  Model model = open_model(o);
  Session& session = model.session;
  Examples examples(o.data, o.read.options(), model.featurizer, model.labels);
  std::error_code unknown;
  const double bytes =
      o.data == "-" ? 0 : static_cast<double>(std::filesystem::file_size(examples.reader().path(), unknown));

  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  Confusion online;
  {
    const Progress shown(
        o.quiet, [&] { return bytes > 0 && !unknown ? static_cast<double>(consumed) / bytes : -1.0; },
        [&] { return seen.load(); });
    Examples::Item item;
    const Oracle oracle = [&](std::size_t) { return item.label; };
    while (!stop.stop_requested() && examples.next(item)) {
      if (++seen <= o.skip) continue;
      consumed = examples.reader().consumed();
      const Example e{session.task(item.task), item.x};
      Step step;
      session.round({&e, 1}, oracle, {&step, 1});
      if (item.label != 0) online.add(item.label, predicted(step.decision.margin));
    }
  }
  model.save(o.model);
  report_skipped(examples.reader());
  const std::uint64_t learned = seen > o.skip ? seen - o.skip : 0;
  if (o.json) {
    std::cout << Json{{"learner", to_text(session.spec())},
                      {"model", o.model},
                      {"examples", learned},
                      {"skipped_lines", examples.reader().skipped()},
                      {"online_accuracy", number(online.accuracy())},
                      {"online_f1", number(online.f1())},
                      {"total",
                       {{"examples", session.total().examples},
                        {"labels", session.total().labels},
                        {"updates", session.total().updates}}},
                      {"unanswered", session.unanswered()},
                      {"tasks", session.tasks().size()},
                      {"model_bytes", session.model_bytes()},
                      {"peak_bytes", session.peak_bytes()},
                      {"interrupted", stop.stop_requested()}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << o.model << ": " << to_text(session.spec()) << "\n" << grouped(learned) << " examples learned from";
    if (online.total() > 0)
      std::cout << ", " << percent(online.accuracy()) << " predicted right before their labels were known";
    std::cout << "\n"
              << "in all " << grouped(session.total().examples) << " examples of " << grouped(session.tasks().size())
              << " tasks, " << grouped(session.total().labels) << " labels bought, " << grouped(session.model_bytes())
              << " bytes\n";
    if (session.unanswered() > 0)
      std::cout << grouped(session.unanswered()) << " labels were asked for that the data do not have\n";
  }
  if (!stop.stop_requested()) return kDone;
  std::cerr << "quorate: interrupted after example " << grouped(seen) << " (" << examples.reader().path() << " line "
            << examples.reader().line_number() << "); " << o.model << " is saved; go on with --skip "
            << std::max<std::uint64_t>(seen, o.skip) << "\n";
  return kInterrupted;
}

}  // namespace

Command add_train(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--data", o->data, "file to learn from; - for standard input")->required();
  app.add_option("--model", o->model,
                 "model file: made, or gone on with if it exists; replaced only when all went well or on Ctrl-C")
      ->required();
  app.add_option("--learner", o->learner, "learner and parameters of a new model; see quorate describe");
  app.add_option("--labels", o->labels, "most labels the model may ever buy, a hard limit (default: none, or as before)")
      ->check(whole(0));
  CLI::Option* seed =
      app.add_option("--seed", o->seed, "seed of a new model's draws")->check(whole(0))->capture_default_str();
  app.add_option("--skip", o->skip, "pass over the first N examples (to go on where an interrupted run stopped)")
      ->check(whole(0));
  app.add_flag("--json", o->json, "the summary as a JSON document");
  app.add_flag("--quiet", o->quiet, "no progress");
  o->read.add(app);
  o->features.add(app);
  app.footer(
      "Example:\n  quorate train --data mails.jsonl.gz --model spam.model --learner 'cmtl(query=margin(b=0.1))' --labels "
      "500");
  return [o, seed, &app] {
    o->features_given = o->features.given(app) || seed->count() > 0;
    return run(*o);
  };
}

}  // namespace quorate::cli
