// quorate reproduce: published tables and figures beside ours. papers/NAME.json says what was published, how it is run,
// within which band we call it reproduced, and why we expect to differ where we do.
#include <iostream>

#include "common.h"
#include "papers/paper.h"
#include "papers/reproduce.h"

namespace quorate::cli {
namespace {

struct ReproduceOptions {
  papers::ReproduceOptions run;
  bool json = false;
  ProgressOptions progress;
};

int list(const ReproduceOptions& o) {
  const Json papers = papers::list_papers(o.run.papers);
  if (o.json) {
    std::cout << papers.dump(2) << "\n";
    return kDone;
  }
  for (const Json& paper : papers) {
    const std::string name = paper["name"];
    std::cout << name << std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') << paper["title"].get<std::string>()
              << "\n";
  }
  return kDone;
}

int run(ReproduceOptions& o) {
  if (o.run.name == "list") return list(o);
  std::vector<NamedFile> inputs = files_in("--data", o.run.data);
  for (NamedFile& paper : files_in("--papers", o.run.papers)) inputs.push_back(std::move(paper));
  check_output({"--report", o.run.report}, inputs);
  o.run.stop = interrupt();
  papers::Done done;
  papers::Reproduced found;
  {
    const Progress progress_line(
        o.progress, [&] { return done.fraction(); }, [&] { return done.learned_before + done.learned; });
    found = papers::reproduce(o.run, done);
  }
  if (!found.interrupted_in.empty()) throw Interrupted("interrupted in " + found.interrupted_in + "; no report is written");
  if (o.json)
    std::cout << found.document.dump(2) << "\n";
  else if (o.run.report.empty())
    std::cout << found.markdown;
  return kDone;
}

}  // namespace

Command add_reproduce(CLI::App& app) {
  const auto o = std::make_shared<ReproduceOptions>();
  app.add_option("name", o->run.name, "table or figure to reproduce; all; or list")->required();
  app.add_option("--runs", o->run.runs, "number of runs (default: as in the paper)")->check(whole(1, 1'000'000));
  app.add_option("--seed", o->run.seed, "seed of the first run")->check(whole(0))->capture_default_str();
  app.add_option("--threads", o->run.threads, "runs at the same time")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--plot-dir", o->run.plot_dir, "folder for the figures")->type_name("FOLDER");
  app.add_option("--report", o->run.report, "Markdown report to write")->type_name("FILE");
  app.add_flag("--json", o->json, "print one JSON document");
  app.add_option("--papers", o->run.papers, "folder of the paper files")->type_name("FOLDER")->capture_default_str();
  app.add_option("--data", o->run.data, "folder of the prepared data sets")->type_name("FOLDER")->capture_default_str();
  o->progress.add(app);
  app.footer("Example:\n  quorate reproduce xu-table-1 --runs 10");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
