// quorate inspect: what is in a model file.
#include <iostream>

#include "common.h"
#include "quorate/run/model.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string model;
  bool json = false;
  std::uint64_t tasks = 20;
};

int run(const Options& o) {
  const Model model = Model::load(o.model);
  const Session& s = model.session;
  const FeatureSettings& f = model.featurizer.settings();
  const auto K = static_cast<Task>(std::min<std::uint64_t>(s.tasks().size(), o.tasks));
  const bool limited = s.budget().limit() != LabelBudget::kNone;
  if (o.json) {
    Json out{
        {"learner", to_text(s.spec())},
        {"labels",
         {{"bought", s.budget().bought()},
          {"limit", limited ? Json(s.budget().limit()) : Json(nullptr)},
          {"unanswered", s.unanswered()}}},
        {"examples", s.total().examples},
        {"updates", s.total().updates},
        {"model_bytes", s.model_bytes()},
        {"input",
         {{"bits", f.bits}, {"bias", f.bias}, {"normalize", f.normalize}, {"bigrams", f.bigrams}, {"binary", f.binary}}},
        {"label_words", {{"positive", model.labels.word(1)}, {"negative", model.labels.word(-1)}}},
        {"task_count", s.tasks().size()},
        {"tasks", Json::array()},
        {"relations", Json::array()}};
    for (Task i = 0; i < K; ++i) {
      const TaskCount c = s.count(i);
      out["tasks"].push_back({{"task", s.tasks()[i]},
                              {"examples", c.examples},
                              {"labels", c.labels},
                              {"updates", c.updates},
                              {"mistakes", c.mistakes}});
      Json row = Json::array();
      for (Task j = 0; j < K; ++j) row.push_back(number(s.learner().relation(i, j)));
      out["relations"].push_back(std::move(row));
    }
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::cout << to_text(s.spec()) << "\n"
            << grouped(s.total().examples) << " examples of " << grouped(s.tasks().size()) << " tasks; "
            << grouped(s.budget().bought()) << " labels bought"
            << (limited ? " of at most " + grouped(s.budget().limit()) : "") << "; " << grouped(s.total().updates)
            << " updates; " << grouped(s.model_bytes()) << " bytes\n"
            << "input: " << (f.bits > 0 ? "names hashed to " + std::to_string(f.bits) + " bits" : std::string("names kept"))
            << (f.bias ? ", constant feature" : "") << (f.normalize ? ", unit length" : "") << (f.bigrams ? ", bigrams" : "")
            << (f.binary ? ", words count once" : "") << "; labels " << model.labels.word(1) << " and "
            << model.labels.word(-1) << "\n\n";
  std::vector<std::vector<std::string>> rows{{"task", "examples", "labels", "mistakes on them", "updates"}};
  for (Task i = 0; i < K; ++i) {
    const TaskCount c = s.count(i);
    rows.push_back(
        {std::string(s.tasks()[i]), grouped(c.examples), grouped(c.labels), grouped(c.mistakes), grouped(c.updates)});
  }
  std::cout << table(rows);
  const bool cut = s.tasks().size() > K;
  if (cut) std::cout << "... and " << grouped(s.tasks().size() - K) << " more (--tasks N shows N)\n";
  std::cout << "\nhow much of a mistake of the column's task reaches the row's weights\n";
  rows = {{""}};
  for (Task i = 0; i < K; ++i) {
    rows[0].push_back(std::to_string(i + 1));
    rows.push_back({std::to_string(i + 1) + " " + std::string(s.tasks()[i])});
    for (Task j = 0; j < K; ++j) {
      char text[16];
      std::snprintf(text, sizeof text, "%.3f", s.learner().relation(i, j));
      rows.back().push_back(text);
    }
  }
  std::cout << table(rows);
  return kDone;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("model,--model", o->model, "model file")->required();
  app.add_option("--tasks", o->tasks, "most tasks to show")->capture_default_str();
  app.add_flag("--json", o->json, "one JSON document");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
