// quorate train: learns a model from a stream, or continues one.
#include <unistd.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>
#include <unordered_set>

#include "common.h"
#include "help.h"
#include "options.h"
#include "quorate/base/hash.h"
#include "quorate/base/nearest.h"
#include "quorate/learner.h"
#include "quorate/model/learning_options.h"
#include "quorate/model/model.h"
#include "quorate/model/round_builder.h"
#include "quorate/registry.h"
#include "quorate/session/prefetcher.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct TrainOptions {
  const CLI::App* app;
  std::string data, model, learner;
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  LearningOptions learning;
  std::uint64_t skip = 0, save_every = 0;
  bool json = false, new_only = false;
  ProgressOptions progress;
};

constexpr std::size_t kLongestAnyway = std::size_t{1} << 20;  // bytes of a line that the smallest --memory allows

struct ClassesAndUsers {
  ClassNames names;
  bool users = false;  // any example names a task
};
/// The classes of the data, in order. They must be known before the first question is asked.
ClassesAndUsers read_class_names(const TrainOptions& o) {
  if (o.data == "-")
    throw UsageError("--classes reads the data twice, first to find the classes; expected a file instead of -");
  ClassesAndUsers out;
  const auto reader = open_reader(o.data, o.read.options());
  for (Record record; reader->next(record);) try {
      out.names(record.label, false);
      out.users |= !record.task.empty();
    } catch (const DataError& e) {
      reader->reject(e.what());
    }
  if (interrupt().stop_requested()) throw Interrupted("interrupted while reading the classes of " + reader->path());
  out.names.sort();
  return out;
}

/// Throws UsageError for an option that the model has otherwise.
void check_options(const TrainOptions& o, const Model& model) {
  check_unchanged(*o.app, o.learning, model.learning, o.model, {"labels", "labels-per-task", "pace", "length", "rounds"});
  check_unchanged(*o.app, o.features.settings, model.featurizer.settings(), o.model);
  const auto check = [&](const std::string& option, const std::string& given, const std::string& is) {
    if (!given.empty() && given != is)
      throw UsageError(option + " " + given + " cannot be changed on a model that exists: " + o.model +
                       (is.empty() ? " was made without it" : " has " + is) + "; leave it out");
  };
  check("--positive", o.features.positive, model.labels.positive());
  check("--classes", o.classes.reduction, std::string(word_of(model.reduction.kind())));
  if (o.classes.no_users && model.reduction.users())
    throw UsageError("--no-users cannot be changed on a model that exists: " + o.model +
                     " was made with users; leave it out");
}

/// Spends the labels evenly over that many examples, those before included. What is so already goes on as it is.
void spread(Session& session, std::uint64_t length) {
  const std::uint64_t seen = session.total().examples, rest = length > seen ? length - seen : 1;
  if (!session.pace().even() || session.pace().remaining() != static_cast<double>(rest)) session.set_spread_over(rest);
}

Model open_model(const TrainOptions& o) {
  if (file_exists(o.model)) {
    const SessionOptions options = o.learning.session();
    Model model = Model::load(o.model);
    if (!o.learner.empty() && to_text(canonical(parse_spec(o.learner))) != to_text(model.session.spec()))
      throw UsageError(o.model + " holds the learner " + to_text(model.session.spec()) + ", not " + o.learner +
                       "; leave out --learner to continue it");
    check_options(o, model);
    LabelLimits limits = model.session.budget().limits();
    if (options.limits.total != LabelLimits::kNone) limits.total = options.limits.total;
    if (options.limits.per_task != LabelLimits::kNone) limits.per_task = options.limits.per_task;
    if (options.limits.rate) limits.rate = options.limits.rate;
    model.set_limits(limits);
    if (o.learning.rounds) model.learning.rounds = o.learning.rounds;
    if (o.learning.pace) {
      spread(model.session, options.spread_over * model.reduction.tasks());
      model.learning.pace = o.learning.pace;
      model.learning.length = o.learning.length;
    }
    return model;
  }
  o.learning.session();  // throws for options that are wrong, before the data are read
  const Spec learner = parse_spec(o.learner.empty() ? kDefaultLearner : o.learner);
  ClassesAndUsers found = o.classes ? read_class_names(o) : ClassesAndUsers();
  Labels labels = o.classes.labels(o.features, std::move(found.names));
  Reduction reduction = o.classes.make(labels.classes(), found.users, find_data(o.data));
  return Model::make(learner, o.learning, o.features.settings, std::move(labels), std::move(reduction));
}

/// A line at 1, 2, 4, 8, ... examples: the labels bought and the accuracy of predictions, in all and since the line before.
/// On standard output for people; as JSON lines on standard error for programs.
class Lines {
 public:
  Lines(const TrainOptions& o, const Model& model, const ProgressiveCount& progressive)
      : json_(o.json),
        next_(o.progress.quiet || (o.progress.how == "lines" && !o.json) ? kNever : 1),
        model_(model),
        progressive_(progressive) {}

  /// After that many examples.
  void operator()(std::uint64_t examples) {
    if (examples < next_) return;
    next_ = 2 * examples;
    const std::uint64_t total = progressive_.total(), right = total - progressive_.mistakes();
    const double all = share(right, total), recent = share(right - right_, total - total_);
    const std::uint64_t labels = model_.session.total().labels;
    total_ = total;
    right_ = right;
    if (json_) {
      std::cerr << Json{{"examples", examples},
                        {"labels", labels},
                        {"progressive_accuracy", number(all)},
                        {"accuracy_since_last", number(recent)},
                        {"model_bytes", model_.bytes()}}
                           .dump() +
                       "\n";
      return;
    }
    if (examples == 1) line("examples", "labels", "accuracy", "since last", "bytes");
    line(grouped(examples), grouped(labels), percent(all), percent(recent), grouped(model_.bytes()));
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nan("") : static_cast<double>(part) / static_cast<double>(whole);
  }
  static void line(const std::string& a, const std::string& b, const std::string& c, const std::string& d,
                   const std::string& e) {
    if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K";  // in place of the line that is rewritten
    std::cout << std::setw(12) << a << std::setw(11) << b << std::setw(11) << c << std::setw(12) << d << std::setw(16) << e
              << std::endl;
  }

  bool json_;
  std::uint64_t next_, total_ = 0, right_ = 0;
  const Model& model_;
  const ProgressiveCount& progressive_;
};

std::string_view task_column(const TrainOptions& o) {
  return o.read.read.task.empty() ? std::string_view("task") : o.read.read.task;
}

/// After that many labelled examples none of which had the label --positive, train says so.
constexpr std::uint64_t kPositiveBy = 1000;

/// Which option, if any, had no effect on these examples: a mistake in most cases. `unmet`: of ExampleReader.
std::string without_effect(const TrainOptions& o, const Model& model, std::uint64_t examples, std::uint64_t labelled,
                           std::uint64_t with_task, const std::string& unmet) {
  if (examples == 0) return "";
  const std::string none = "none of " + counted(examples, "example") + " ";
  if (labelled == 0) {
    const Schema& schema = model.featurizer.schema();
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < schema.size(); ++i)
      if (schema.kind(i) != ColumnKind::kLabel) names.push_back(schema.name(i));
    const std::string wanted = o.read.read.label.empty() ? "label" : o.read.read.label;
    return none + "has a label; expected labels in " +
           (o.read.read.label.empty() ? "the column label, or --label-column to name theirs" : "--label-column " + wanted) +
           did_you_mean(wanted, names);
  }
  if (!o.features.positive.empty() || model.labels.other_words())
    if (const std::string labels = model.labels.no_positive(); !labels.empty()) return none + labels;
  if (!o.read.read.task.empty() && with_task == 0 && model.reduction.by_task())
    return none + "names a task in --task-column " + o.read.read.task;
  return unmet;
}

/// Saves the model before the end. A full disk then is no reason to lose what was learned: the last save decides. Returns
/// whether it is saved.
bool save_meanwhile(const TrainOptions& o, const Model& model) {
  try {
    model.save(o.model);
    return true;
  } catch (const FileError& e) {
    std::cerr << "quorate: " << e.what() << "; not saved after " << counted(model.session.total().examples, "example")
              << ", training continues\n";
    return false;
  }
}

/// What became of the examples of a run.
struct Numbers {
  std::uint64_t learned, unknown, again, without_task;
  bool interrupted, out_of_memory;
};

/// The last words of a run, for people or as JSON, on standard output.
void summarize(const TrainOptions& o, const Model& model, const ExampleReader& examples, const ProgressiveCount& progressive,
               const Numbers& n) {
  const Report report(model);
  if (o.json) {
    std::cout << Json{{"model", o.model},
                      {"examples", n.learned},
                      {"skipped_lines", examples.skipped()},
                      {"examples_unknown", n.unknown},
                      {"examples_again", n.again},
                      {"examples_without_task", n.without_task},
                      {"progressive_accuracy", number(progressive.accuracy())},
                      {"progressive_always", number(progressive.always())},
                      {"progressive_f1", number(progressive.f1())},
                      {"report", to_json(report)},
                      {"interrupted", n.interrupted}}
                     .dump(2)
              << "\n";
  } else if (!o.progress.quiet) {
    std::cout << o.model << ": " << report.learner << "\nlearned from " << counted(n.learned, "example");
    if (progressive.total() > 0)
      std::cout << ", progressive accuracy " << percent(progressive.accuracy()) << " ("
                << always_text(model.labels.name(progressive.most_frequent()), progressive.always()) << ")";
    std::cout << "\n"
              << "total: " << examples_text(model) << ", " << counted(report.answered, "label") << " bought, "
              << counted(report.model_bytes, "byte") << "\n";
    if (n.without_task > 0 && model.session.tasks().size() > 1) {
      const auto column = model.featurizer.schema().column_of(ColumnKind::kTask);
      std::cout << counted(n.without_task, "example") << " without a " << (column ? *column : task_column(o))
                << (n.without_task == 1 ? " is" : " are") << " of the task '" << kOnlyTask << "'\n";
    }
    if (report.audit) std::cout << audit_text(*report.audit, report.classes);
    if (report.untracked_examples > 0)
      std::cout << counted(report.untracked_examples, "example")
                << " of tasks beyond the memory limit, predicted with the weights that all tasks share\n";
    if (report.names_left_out > 0)
      std::cout << counted(report.names_left_out, "feature")
                << " left out: the names exceed the quarter of the memory limit that is for names; --bits 18 "
                   "needs no names\n";
    if (report.unanswered > 0)
      std::cout << counted(report.unanswered, "label")
                << (!n.out_of_memory ? " asked for where the example has none (--label-column names the column)\n"
                                     : " asked for and not learned: the example has none, or memory ran out\n");
  }
}

int run(const TrainOptions& o) {
  if (o.model == "-") throw UsageError("--model -: expected a file");
  const std::stop_token stop = interrupt();
  interrupt_on_closed_pipe();
  std::vector<NamedFile> inputs = files_of_learner(o.learner.empty() ? kDefaultLearner : o.learner);
  inputs.push_back(data_file("--data", o.data));
  check_output({"--model", o.model}, inputs);
  inputs.push_back({"--model", o.model});
  check_output({"standard output", "-"}, inputs);
  const FileLock lock(o.model);
  const bool fresh = !file_exists(o.model);
  Model model = open_model(o);
  free_large_arrays_at_once(model);
  Session& session = model.session;
  const Capabilities& can = session.capabilities();
  RoundBuilder builder(model);
  ReadOptions reading = o.read.options(model.featurizer.settings());
  reading.labelled = true;
  const auto& rate = session.budget().limits().rate;
  const bool by_time = rate && rate->seconds;
  reading.times_decide = by_time;
  if (session.memory().limited())
    reading.longest_line = std::clamp(session.memory_limit(), kLongestAnyway, LineReader::kLongest);
  ExampleReader examples(o.data, reading, model.featurizer, model.labels);
  model.begin_file();

  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  const Prefetcher prefetcher(session);
  Lines lines(o, model, builder.progressive());
  std::uint64_t labelled = 0, with_task = 0, unknown = 0, first_unknown = 0, again = 0, first_again = 0;
  std::unordered_set<std::uint64_t> known;  // hashes of the ids of labels
  for (std::size_t i = 0; i < session.labels().size(); ++i)
    if (const std::string id = session.labels().example_id(i); !id.empty()) known.insert(hash64(id));
  bool saved = false;
  const std::uint64_t left_out_before = model.featurizer.names_left_out();
  std::uint64_t open = 0;     // examples of a round that was not ended: not learned from
  std::string out_of_memory;  // why, if it is
  try {
    const Progress progress_line(o.progress, share_read(examples.path(), consumed), [&] { return seen.load(); });
    ExampleReader::Item item;
    while (!stop.stop_requested() && examples.next(item)) {
      if (++seen <= o.skip) {
        model.featurizer.set_names_left_out(left_out_before);
        continue;
      }
      consumed = examples.consumed();
      if (by_time && !item.time)
        throw DataError(
            examples.path() + ":" + std::to_string(examples.line_number()) + ": no time, which labels " + to_text(*rate) +
            " need; expected " +
            (reading.time.empty() ? "--time-column to name it" : "one in '" + reading.time + "' for every example"));
      if (!known.empty() && !item.id.empty() && known.contains(hash64(item.id))) {
        if (again++ == 0) first_again = examples.line_number();
        if (o.new_only) continue;
      }
      if (item.unknown) {
        if (unknown++ == 0) first_unknown = examples.line_number();
        continue;
      }
      labelled += item.label.known();
      if (labelled == kPositiveBy && item.label.known() && !o.features.positive.empty())
        if (const std::string labels = model.labels.no_positive(); !labels.empty())
          std::cerr << "quorate: " << examples.path() << ": none of the first " << counted(labelled, "labelled example")
                    << " " << labels << "\n";
      with_task += item.task != kOnlyTask;
      prefetcher.tasks([&](std::size_t ahead) { return examples.coming_task(ahead); });
      const Task task = model.task(item.task);
      prefetcher.example({session.known_task(examples.coming_task(1)), examples.coming_features()});
      builder.add({task, item.x, item.weight, item.id}, item.label, item.time, task == kUntracked ? hash64(item.task) : 0);
      lines(seen - o.skip);
      if (o.save_every > 0 && (seen - o.skip) % o.save_every == 0) saved |= save_meanwhile(o, model);
    }
    if (stop.stop_requested())
      open = builder.drop();
    else
      builder.flush();
  } catch (const MemoryError& e) {
    if (session.total().examples == 0) throw;  // there is nothing to save
    open = builder.drop();
    out_of_memory = e.what();
  }
  if (stop.stop_requested() && seen == 0)  // columns may have been judged by fewer lines than without the interruption
    throw Interrupted("interrupted before the first example of " + examples.path() + "; " + o.model +
                      (fresh ? " is not written" : " is as it was"));
  report_skipped(examples);
  if (unknown > 0)
    std::cerr << "quorate: " << examples.path() << ":" << first_unknown << ": no key that the model knows; "
              << counted(unknown, "such example") << " not learned from or asked about\n";
  if (again > 0)
    std::cerr << "quorate: " << examples.path() << ":" << first_again << ": " << counted(again, "example")
              << (again == 1 ? " has the id" : " have ids") << " of labels that the model has; "
              << (o.new_only ? "passed over" : "is this the same data again? --new-only passes them over") << "\n";
  const std::uint64_t all = seen - std::min<std::uint64_t>(seen, o.skip) - unknown - (o.new_only ? again : 0);
  if (const std::string idle = without_effect(o, model, all, labelled, with_task,
                                              stop.stop_requested() || !out_of_memory.empty() ? "" : examples.unmet());
      !idle.empty()) {
    if (fresh && !saved && !stop.stop_requested() && out_of_memory.empty())
      throw DataError(examples.path() + ": " + idle + "; " + o.model + " is not written");
    std::cerr << "quorate: " << examples.path() << ": " << idle << "\n";
  }
  model.save(o.model);
  if (can.selects && 2 * builder.rounds_without_choice() > builder.rounds())
    std::cerr << "quorate: " << grouped(builder.rounds_without_choice()) << " of " << counted(builder.rounds(), "round")
              << " had no more examples than labels to buy, so the learner could not select; expected data in which "
                 "tasks alternate\n";
  const std::uint64_t without_task = model.reduction.by_task() ? all - with_task : 0;
  const std::uint64_t learned = all > open ? all - open : 0;
  summarize(o, model, examples, builder.progressive(),
            {learned, unknown, again, without_task, stop.stop_requested(), !out_of_memory.empty()});
  if (!out_of_memory.empty()) {
    std::cerr << "quorate: " << examples.path() << ":" << examples.line_number() << ": " << out_of_memory << "; " << o.model
              << " is saved with what was learned before\n";
    return kNoMemory;
  }
  if (!stop.stop_requested()) return kDone;
  std::cerr << "quorate: interrupted after example " << grouped(seen - open) << " (" << examples.path() << " line "
            << examples.line_number() << "); " << o.model << " is saved; continue with --skip "
            << std::max<std::uint64_t>(seen - open, o.skip) << "\n";
  return kInterrupted;
}

}  // namespace

Command add_train(CLI::App& app) {
  const auto o = std::make_shared<TrainOptions>();
  app.add_option("--data", o->data, "file to learn from; - for standard input")->required()->type_name("FILE");
  app.add_option("--model", o->model,
                 "model file: created, or continued if it exists; written atomically on success or interruption")
      ->required()
      ->type_name("FILE");
  app.add_option("--learner", o->learner,
                 "learner and parameters of a new model; quorate describe lists them (default: cohort)")
      ->type_name("LEARNER");
  {
    const InGroup group(app, kLearning);
    add_options(app, o->learning);
  }
  app.add_option("--skip", o->skip, "skip the first N examples (to continue an interrupted run)")->check(whole(0));
  app.add_flag("--new-only", o->new_only, "pass over examples whose ids are those of labels that the model has");
  app.add_option("--save-every", o->save_every,
                 "save the model after every N examples, too, so that it can be used meanwhile")
      ->check(whole(1));
  app.add_flag("--json", o->json, "print the summary as a JSON document, and progress as JSON lines");
  o->progress.add(app);
  o->classes.add(app);
  o->read.add(app);
  o->features.add(app);
  app.footer(
      "A model that exists is continued: options of reading, features and the learner must equal the model's or be left "
      "out; --labels, --labels-per-task, --pace and --length may change between runs, and count from the first one. A new "
      "rate counts the labels that the rate before it still counted. An example that is earlier than one before it has that "
      "one's time.\nExample:\n  quorate train --data emails.jsonl.gz --model spam.model --labels 500 --audit 0.1");
  o->app = &app;
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
