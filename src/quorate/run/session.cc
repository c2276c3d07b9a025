#include "quorate/run/session.h"

#include <array>
#include <sstream>

#include "quorate/base/utf8.h"
#include "quorate/registry.h"

namespace quorate {
namespace {

constexpr std::uint64_t kLearnerStream = 1;  // of the run's seed; the order of the examples has stream 0

std::vector<std::uint64_t> words_of(const Rng& rng) {
  std::stringstream text;
  text << rng;
  std::vector<std::uint64_t> out;
  for (std::uint64_t word = 0; text >> word;) out.push_back(word);
  return out;
}

Rng rng_of(const std::vector<std::uint64_t>& words) {
  std::stringstream text;
  for (const std::uint64_t word : words) text << word << ' ';
  Rng out;
  if (words.size() != words_of(out).size() || words.back() > 312 || !(text >> out))
    throw DataError("model file: the random generator's state does not fit");
  return out;
}

using Column = std::uint64_t TaskCount::*;
constexpr std::array<std::pair<std::string_view, Column>, 4> kColumns{{{"examples", &TaskCount::examples},
                                                                       {"labels", &TaskCount::labels},
                                                                       {"updates", &TaskCount::updates},
                                                                       {"mistakes", &TaskCount::mistakes}}};

}  // namespace

Session::Session(const Spec& spec, std::unique_ptr<Memory> memory)
    : spec_(canonical(spec)), memory_(std::move(memory)), tasks_(memory_.get()), counts_(memory_.get()) {}

Session::Session(const Spec& spec, const SessionOptions& o) : Session(spec, std::make_unique<Memory>(o.memory_limit)) {
  if (o.labels_per_round < 1) throw UsageError("labels per round 0: expected at least 1");
  labels_per_round_ = o.labels_per_round;
  rng_ = make_rng(o.seed, kLearnerStream);
  budget_ = LabelBudget(o.limits.total);
  if (o.tasks != nullptr)
    for (std::uint32_t i = 0; i < o.tasks->size(); ++i) tasks_.intern((*o.tasks)[i]);
  learner_ = make_learner(spec_, {tasks_, memory_.get(), false, labels_per_round_});
}

Task Session::task(std::string_view name) {
  if (const auto known = tasks_.find(name)) return *known;
  if (memory_->limit() != Memory::kNoLimit)
    learner_->make_room(tasks_.bytes_to_add(name) + growth(counts_, tasks_.size() + 1 - counts_.size()));
  return tasks_.intern(name);
}

void Session::round(std::span<const Example> round, const Oracle& oracle, std::span<Step> out) {
  decisions_.assign(round.size(), {});
  learner_->decide(round, rng_, decisions_);
  for (std::size_t n = 0; n < round.size(); ++n) {
    const Task task = round[n].task;
    if (task >= counts_.size()) counts_.resize(std::size_t{task} + 1);
    TaskCount& count = counts_[task];
    ++count.examples;
    ++total_.examples;
    Step& step = out[n] = {decisions_[n], decisions_[n].ask && budget_.left(), {}, false};
    if (!step.asked) continue;
    step.label = oracle(n);
    if (!step.label) {
      ++unanswered_;
      continue;
    }
    budget_.buy();
    step.updated = learner_->learn(round[n], step.decision, *step.label, rng_);
    const bool mistake = *step.label != 0 && predicted(step.decision.margin) != *step.label;
    for (TaskCount* c : {&count, &total_}) {
      ++c->labels;
      c->updates += step.updated;
      c->mistakes += mistake;
    }
  }
}

TaskCount Session::count(Task task) const { return task < counts_.size() ? counts_[task] : TaskCount{}; }

void Session::save(Tensors& out) const {
  Writer writer(out);
  writer("tasks", tasks_);
  writer("rng", words_of(rng_));
  writer("budget", budget_);
  writer("labels_per_round", labels_per_round_);
  writer("memory_limit", std::uint64_t{memory_->limit()});
  writer("unanswered", unanswered_);
  for (const auto& [name, column] : kColumns) {
    std::vector<std::uint64_t> values;
    for (const TaskCount& c : counts_) values.push_back(c.*column);
    writer("count." + std::string(name), values);
  }
  learner_->save(Writer(out, "learner."));
}

Session Session::load(const Spec& spec, Reader& reader) {
  std::uint64_t memory_limit = 0;
  reader("memory_limit", memory_limit);
  Session out(spec, std::make_unique<Memory>(memory_limit));
  reader("tasks", out.tasks_);
  for (std::uint32_t i = 0; i < out.tasks_.size(); ++i)
    if (find_not_utf8(out.tasks_[i]) != std::string_view::npos) throw DataError("model file: a task's name is not UTF-8");
  std::vector<std::uint64_t> words;
  reader("rng", words);
  out.rng_ = rng_of(words);
  reader("budget", out.budget_);
  reader("labels_per_round", out.labels_per_round_);
  if (out.labels_per_round_ < 1) throw DataError("model file: labels_per_round is 0; expected at least 1");
  reader("unanswered", out.unanswered_);
  for (const auto& [name, column] : kColumns) {
    std::vector<std::uint64_t> values;
    reader("count." + std::string(name), values);
    if (column != kColumns[0].second && values.size() != out.counts_.size())
      throw DataError("model file: counts differ in size");
    out.counts_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.counts_[i].*column = values[i];
      out.total_.*column += values[i];
    }
  }
  if (out.counts_.size() > out.tasks_.size() || out.total_.labels != out.budget_.bought())
    throw DataError("model file: counts do not fit the tasks or the labels bought");
  out.learner_ = make_learner(out.spec_, {out.tasks_, out.memory_.get(), true, out.labels_per_round_});
  Reader part = reader.part("learner.");
  out.learner_->load(part);
  return out;
}

}  // namespace quorate
