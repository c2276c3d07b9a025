// What every learner promises, whatever its rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>

#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "support/allocations.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;
using Contract = EveryLearner;

constexpr Task kTasks = 6;
constexpr double kTie = std::numeric_limits<double>::min();  // a margin of 0, where 0 predicts +1

std::unique_ptr<Model> new_model(const Spec& spec, std::uint64_t seed = 3, std::uint64_t labels = LabelLimits::kNone) {
  LearningOptions learning{.keep_labels = {0}, .seed = seed};
  if (labels != LabelLimits::kNone) learning.labels = {std::to_string(labels)};
  return std::make_unique<Model>(Model::make(spec, learning, {}, Labels{}));
}

std::string state_of(const Session& session) {
  Tensors out;
  session.save(out);
  return to_bytes(out);
}

/// What it learned from labels; how common features are it learns from every example.
std::string learner_of(const Session& session) {
  Tensors out;
  session.learner().save(Writer(out));
  std::erase_if(out.tensors, [](const auto& tensor) { return tensor.first.starts_with("scale."); });
  return to_bytes(out);
}

TEST_P(Contract, SaveAndContinueEqualsNeverSaved) {
  for (const bool holes : {false, true}) {
    const Stream s = make_stream(260, kTasks, 7, 11, holes);
    const auto never = new_model(spec(), 3, 120);
    auto often = new_model(spec(), 3, 120);
    for (std::size_t n = 0; n < s.size(); ++n) {
      if (n % 13 == 0) often = std::make_unique<Model>(Model::from_bytes(often->to_bytes()));
      const Outcome a = feed(never->session, s, n), b = feed(often->session, s, n);
      ASSERT_EQ(a, b) << "example " << n;
    }
    EXPECT_GT(never->session.total().updates, 0u);
    EXPECT_EQ(never->to_bytes(), often->to_bytes());
  }
}

/// Tasks and features keep arriving and, if `late`, every fourth answer comes late.
class Arriving {
 public:
  Arriving(bool holes, bool late) : stream_(make_stream(kExamples, 30, 16, 24, holes)), late_(late) {
    for (std::size_t n = 0; n < kExamples; ++n) {
      Vector& x = stream_.x[n];
      const std::size_t size = std::min(x.value.size(), 4 + n / 25);
      x.value.resize(size);
      if (!x.index.empty()) x.index.resize(size);
      stream_.task[n] = static_cast<Task>((n * 7) % (n / 13 + 2));
    }
  }
  static constexpr std::size_t kExamples = 325;

  std::vector<Outcome> feed(Session& session, std::size_t n) const {
    std::vector<Outcome> out;
    while (session.pending().size() > 0 && (n % 5 == 0 || session.pending().size() > 6))
      if (const auto outcome = answer_to(session, session.pending().oldest(), n % 2 == 0 ? 1 : -1)) out.push_back(*outcome);
    const Example e{session.task(task_name(stream_.task[n])), stream_.x[n].view()};
    Outcome& outcome = out.emplace_back();
    run_round(session, {&e, 1}, [&](std::size_t) { return late_ && n % 4 == 0 ? kLater : stream_.y[n]; }, {&outcome, 1});
    return out;
  }

  /// Example n up to its question, then at_question() if there is one.
  template <class AtQuestion>
  void decide(Session& session, std::size_t n, AtQuestion at_question) const {
    const Example e{task(session, n), x(n)};
    session.decide({{&e, 1}});
    if (session.next_question()) at_question();
  }
  Task task(Session& session, std::size_t n) const { return session.task(task_name(stream_.task[n])); }
  Reply reply(std::size_t n) const { return reply_of(known(stream_.y[n])); }
  Features x(std::size_t n) const { return stream_.x[n].view(); }

 private:
  Stream stream_;
  bool late_;
};

std::optional<ByteSize> memory_of(std::size_t limit) {
  return limit == Memory::kNoLimit ? std::nullopt : std::optional(ByteSize{limit});
}

/// Decisions by the memory that is left, as who leaves a full set, or whether the model is full, are those of the model that
/// was never saved.
TEST_P(Contract, SaveAndContinueEqualsNeverSavedUnderAMemoryLimit) {
  Spec spec = this->spec();
  for (Spec::Arg& arg : spec.args)
    if (arg.key == "budget") arg.value.word = "0";  // as many as the limit holds
  // Every other setting keeps its labels, too.
  const std::size_t keep_labels = std::hash<std::string>()(GetParam().name) % 2 == 0 ? 16'000'000 : 0;
  const auto new_model = [&](std::size_t limit) {
    return std::make_unique<Model>(
        Model::make(spec, {.audit = 0.15, .memory = memory_of(limit), .keep_labels = {keep_labels}, .seed = 3},
                    FeatureSettings{}, Labels{}));
  };
  const bool decides = GetParam().can().forgets || GetParam().can().untracked_tasks;
  std::vector<double> shares{0.3, 0.5, 0.65, 0.8, 0.95};
  // One of the limits, another for the next setting of the learner; QUORATE_LIMITS=all: every one.
  if (std::getenv("QUORATE_LIMITS") == nullptr) shares = {shares[std::hash<std::string>()(GetParam().name) % shares.size()]};
  for (const bool holes : {false, true}) {
    if (!holes && !decides) continue;
    const Arriving stream(holes, decides);
    const auto free = new_model(Memory::kNoLimit);
    for (std::size_t n = 0; n < Arriving::kExamples; ++n) stream.feed(free->session, n);
    for (const double share : shares) {
      const auto limit = static_cast<std::size_t>(share * static_cast<double>(free->session.peak_bytes()));
      const std::string where = "limit " + std::to_string(limit) + (holes ? ", holes" : "");
      std::unique_ptr<Model> never, often;
      try {
        never = new_model(limit);
        often = new_model(limit);
      } catch (const MemoryError&) {
        continue;
      }
      bool full = false;
      for (std::size_t n = 0; n < Arriving::kExamples && !full; ++n) {
        if (n % 13 == 0) often = std::make_unique<Model>(Model::from_bytes(often->to_bytes()));
        std::vector<Outcome> a, b;
        try {
          a = stream.feed(never->session, n);
        } catch (const MemoryError&) {
          full = true;
        }
        try {
          b = stream.feed(often->session, n);
          ASSERT_FALSE(full) << "example " << n << ", " << where;
        } catch (const MemoryError&) {
          ASSERT_TRUE(full) << "example " << n << ", " << where;
        }
        if (full) break;
        ASSERT_EQ(a, b) << "example " << n << ", " << where;
        ASSERT_EQ(never->session.model_bytes(), often->session.model_bytes()) << "example " << n << ", " << where;
        ASSERT_LE(never->session.peak_bytes(), limit);
        ASSERT_LE(often->session.peak_bytes(), limit);
      }
      EXPECT_EQ(never->to_bytes(), often->to_bytes()) << where;
      if (full) {  // what was refused left nothing that is not saved
        const Model again = Model::from_bytes(never->to_bytes());
        EXPECT_EQ(never->session.model_bytes(), again.session.model_bytes()) << where;
      }
    }
  }
}

/// Memory that is refused has taught nothing, and what is saved then loads under its own limit.
TEST_P(Contract, AModelThatRanOutOfMemoryIsWhatItWasAndLoads) {
  if (GetParam().can().forgets) return;  // it makes room instead
  const auto new_model = [&](std::size_t limit) {
    return std::make_unique<Model>(
        Model::make(spec(), {.memory = memory_of(limit), .keep_labels = {10'000}, .seed = 3}, FeatureSettings{}, Labels{}));
  };
  std::vector<double> shares{0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97, 1.0};  // of the peak without a limit
  if (std::getenv("QUORATE_LIMITS") == nullptr) {
    const std::size_t first = std::hash<std::string>()(GetParam().name) % shares.size();
    shares = {shares[first], shares[(first + 3) % shares.size()], shares[(first + 6) % shares.size()]};
  }
  const Arriving stream(true, false);
  const auto free = new_model(Memory::kNoLimit);
  for (std::size_t n = 0; n < Arriving::kExamples; ++n) stream.feed(free->session, n);
  for (const double share : shares) {
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(free->session.peak_bytes()));
    std::unique_ptr<Model> model, again;
    try {
      model = new_model(limit);
      again = new_model(limit);
    } catch (const MemoryError&) {
      continue;
    }
    const std::string where = "limit " + std::to_string(limit);
    std::size_t stop = 0;
    try {
      for (; stop < Arriving::kExamples; ++stop) stream.feed(model->session, stop);
    } catch (const MemoryError&) {
    }
    const auto scores = [&](const Session& session) {
      std::vector<double> out;
      for (std::size_t n = 0; n < Arriving::kExamples; n += 8)
        for (const Task task : {Task{0}, static_cast<Task>(n % 27)})
          out.push_back(session.learner().score({task, stream.x(n)}));
      return out;
    };
    if (stop < Arriving::kExamples) {  // once more, to look at it before its last label
      Session& session = again->session;
      const auto counts = [&] {
        return std::tuple(session.total().labels, session.total().updates, session.total().mistakes,
                          session.budget().bought(), session.labels().next_id(), session.labels().size());
      };
      for (std::size_t n = 0; n < stop; ++n) stream.feed(session, n);
      std::string undecided;
      try {
        stream.task(session, stop);
        undecided = again->to_bytes();
        stream.decide(session, stop, [&] {
          undecided.clear();
          const std::vector<double> before = scores(session);
          const auto counted = counts();
          EXPECT_THROW(session.reply(stream.reply(stop)), MemoryError) << where;
          EXPECT_EQ(scores(session), before) << "example " << stop << ", " << where;
          session.end_round();
          EXPECT_EQ(counts(), counted) << "example " << stop << ", " << where;
        });
      } catch (const MemoryError&) {  // before the label
        if (!undecided.empty()) {
          EXPECT_TRUE(again->to_bytes() == undecided) << "example " << stop << ", " << where;
        }
      }
    }
    const std::string bytes = model->to_bytes();
    try {
      const Model loaded = Model::from_bytes(bytes);
      EXPECT_LE(loaded.session.peak_bytes(), limit);
      EXPECT_EQ(scores(loaded.session), scores(model->session)) << where;
      EXPECT_EQ(loaded.to_bytes(), bytes) << where;
    } catch (const DataError& e) {
      ADD_FAILURE() << e.what() << ", example " << stop << ", " << where;
    }
  }
}

/// Where labels came in another order than they are kept, a rebuild may need more memory than there is: it leaves some out.
TEST_P(Contract, ARebuildInFullMemoryLeavesASessionThatGoesOn) {
  if (!GetParam().can().rebuilds || GetParam().can().forgets) return;
  const auto new_model = [&](std::size_t limit) {
    return std::make_unique<Model>(Model::make(spec(), {.memory = memory_of(limit), .keep_labels = {1'000'000}, .seed = 3},
                                               FeatureSettings{}, Labels{}));
  };
  const Arriving stream(true, false);
  const auto free = new_model(Memory::kNoLimit);
  for (std::size_t n = 0; n < Arriving::kExamples; ++n) stream.feed(free->session, n);
  const std::vector shares{0.4, 0.6, 0.8};
  const double share = shares[std::hash<std::string>()(GetParam().name) % shares.size()];
  const auto limit = static_cast<std::size_t>(share * static_cast<double>(free->session.peak_bytes()));
  std::unique_ptr<Model> model;
  try {
    model = new_model(limit);
  } catch (const MemoryError&) {
    return;
  }
  std::size_t n = 0;
  const auto feed = [&] {  // until memory is full
    try {
      for (; n < Arriving::kExamples; ++n) stream.feed(model->session, n);
    } catch (const MemoryError&) {
      ++n;
    }
  };
  feed();
  std::uint64_t left_out = 0;
  for (std::uint64_t k = 0; k < 6; ++k) {
    Session& session = model->session;
    const KeptLabels& labels = session.labels();
    if (labels.size() == 0) break;
    const std::size_t place = static_cast<std::size_t>(k * 7919 + limit) % labels.size();
    if (k % 3 == 2)
      session.correct(labels[place].id, labels[place].answer() == kYes ? kNo : kYes);
    else
      session.undo({labels[place].id});
    left_out += session.left_out();
    EXPECT_EQ(session.broken(), "");
    const std::string bytes = model->to_bytes();
    auto again = std::make_unique<Model>(Model::from_bytes(bytes));
    EXPECT_EQ(again->session.model_bytes(), session.model_bytes()) << "undo " << k << ", limit " << limit;
    EXPECT_TRUE(again->to_bytes() == bytes);
    EXPECT_LE(session.peak_bytes(), limit);
    if (k % 2 == 1) model = std::move(again);
    feed();
  }
  RecordProperty("left_out", static_cast<int>(left_out));
}

TEST_P(Contract, ASeedDecidesEverything) {
  const Stream s = make_stream(200, kTasks, 5, 12);
  const auto a = new_model(spec(), 3), b = new_model(spec(), 3), c = new_model(spec(), 4);
  EXPECT_EQ(feed(a->session, s), feed(b->session, s));
  EXPECT_EQ(a->to_bytes(), b->to_bytes());
  feed(c->session, s);
  EXPECT_EQ(learner_of(c->session) != learner_of(a->session), GetParam().draws());
}

TEST_P(Contract, TheLabelBudgetIsNeverExceededAndTheStreamGoesOn) {
  const Stream s = make_stream(200, kTasks, 5, 13);
  for (const std::uint64_t limit : {0u, 1u, 17u}) {
    Session session(spec(), {.seed = 3, .limits = {.total = limit}});
    std::uint64_t asked = 0;
    bool learned = false;
    for (std::size_t n = 0; n < s.size(); ++n) {
      const bool left = session.budget().left();
      const bool compared = !left && n > 100 && !GetParam().can().learns_unasked;
      const std::string before = compared ? learner_of(session) : "";
      const Outcome outcome = feed(session, s, n);
      asked += outcome.asked;
      learned = learned || outcome.updated;
      ASSERT_LE(session.budget().bought(), limit);
      if (!left) {
        EXPECT_FALSE(outcome.asked);
        EXPECT_FALSE(outcome.updated);
        EXPECT_TRUE(std::isfinite(outcome.decision.margin));
        if (limit == 0) {
          EXPECT_LE(std::abs(outcome.decision.margin), kTie) << "a model that never saw a label has an opinion";
        }
        // The learner may note that a task came; nothing that it learned changes.
        if (compared) {
          EXPECT_EQ(learner_of(session), before);
        }
      }
    }
    EXPECT_EQ(asked, session.budget().bought());
    EXPECT_EQ(session.total().labels, asked);
    EXPECT_EQ(session.total().examples, s.size());
    if (limit != 1) {
      EXPECT_EQ(learned, limit > 0);  // one label may be as predicted
    }
    if (GetParam().asks_always() || limit == 1) {
      EXPECT_EQ(asked, limit);
    }
  }
}

TEST_P(Contract, ScoreIsPureAndAnswersTasksNeverSeen) {
  const Stream s = make_stream(150, kTasks, 5, 14);
  Session session(spec(), {.seed = 3});
  const Vector x = s.x[0];
  EXPECT_LE(std::abs(session.learner().score({0, x})), kTie) << "before the first label";
  feed(session, s);
  const std::string before = state_of(session);
  const std::size_t bytes = session.model_bytes();
  for (std::size_t n = 0; n < s.size(); ++n) {
    const double once = session.learner().score(s.example(n));
    EXPECT_TRUE(std::isfinite(once));
    EXPECT_TRUE(same_bits(once, session.learner().score(s.example(n))));
  }
  for (const Task task : {kTasks + 1, 1000u, 0xFFFFFFF0u}) {
    EXPECT_TRUE(std::isfinite(session.learner().score({task, x})));
    EXPECT_TRUE(std::isfinite(session.learner().influence(task, 0)));
    EXPECT_TRUE(std::isfinite(session.learner().influence(0, task)));
  }
  const bool moved = to_text(spec()).find("cost=") != std::string::npos;  // by the share of positives
  if (!GetParam().can().keeps_instances && !moved) {                      // a kernel of nothing with something need not be 0
    EXPECT_LE(std::abs(session.learner().score({0, dense({})})), kTie) << "an empty instance";
  }
  EXPECT_TRUE(std::isfinite(session.learner().score({0, sparse({5, kMaxIndex + 1}, {1, 1})})));
  EXPECT_EQ(state_of(session), before);
  EXPECT_EQ(session.model_bytes(), bytes);
}

TEST_P(Contract, TheContributionsOfFeaturesSumToTheMargin) {
  if (!GetParam().can().additive) GTEST_SKIP() << "its margins are no sums";
  const Stream s = make_stream(150, kTasks, 5, 14);
  Session session(spec(), {.seed = 3});
  feed(session, s);
  const Learner& learner = session.learner();
  for (std::size_t n = 0; n < s.size(); ++n)
    for (const Task task : {s.example(n).task, kUntracked}) {
      Example e = s.example(n);
      e.task = task;
      std::vector<Contribution> parts(e.x.size());
      learner.explain(e, parts);
      double sum = 0;
      for (const Contribution& part : parts) {
        sum += part.shared + part.own;
        EXPECT_GE(part.uncertainty, 0);
        if (task == kUntracked) {
          EXPECT_EQ(part.own, 0);
        }
      }
      EXPECT_NEAR(sum, learner.score(e), 1e-9 * (1 + std::abs(sum)));
    }
}

TEST_P(Contract, ALabelIsSeenOnlyIfItIsAskedFor) {
  const Stream s = make_stream(200, kTasks, 5, 15);
  Session session(spec(), {.seed = 3, .limits = {.total = 60}});
  std::uint64_t calls = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e{session.task(task_name(s.task[n])), s.x[n]};
    const std::uint64_t before = calls;
    Outcome outcome;
    run_round(session, {&e, 1}, [&](std::size_t) { return ++calls, s.y[n]; }, {&outcome, 1});
    EXPECT_EQ(calls - before, outcome.asked ? 1u : 0u);
    EXPECT_EQ(outcome.answer, outcome.asked ? std::optional(answer_of(s.y[n])) : std::nullopt);
    if (GetParam().can().mistake_driven) {
      EXPECT_EQ(outcome.asked && !outcome.updated,
                outcome.asked && static_cast<double>(*outcome.answer) * outcome.decision.margin > 0);
    }
    if (outcome.asked && static_cast<double>(*outcome.answer) * outcome.decision.margin < 0) {
      EXPECT_TRUE(outcome.updated) << "every mistake moves the model";
    }
  }
  EXPECT_EQ(calls, session.total().labels);
  EXPECT_EQ(calls, session.budget().bought());
}

TEST_P(Contract, TheWholeRoundIsPredictedBeforeItsFirstLabel) {
  const Stream s = make_stream(240, kTasks, 5, 16);
  const NameTable names = task_names(kTasks);
  Session session(spec(), {.seed = 3, .tasks = &names});
  for (std::size_t n = 0; n + 4 <= s.size(); n += 4) {
    std::vector<Example> round;
    std::vector<double> margins;
    for (std::size_t k = n; k < n + 4; ++k) {
      round.push_back({session.task(task_name(s.task[k])), s.x[k]});
      margins.push_back(session.learner().score(round.back()));
    }
    std::vector<Outcome> steps(4);
    run_round(
        session, round, [&](std::size_t k) { return s.y[n + k]; }, steps);
    if (GetParam().can().learns_unasked) continue;  // an example's answer teaches before the next is predicted
    if (GetParam().counts()) continue;              // a round is counted before it is predicted
    for (std::size_t k = 0; k < 4; ++k) EXPECT_TRUE(same_bits(steps[k].decision.margin, margins[k]));
  }
  EXPECT_GT(session.total().updates, 4u);
}

TEST_P(Contract, TasksMayKeepArriving) {
  Stream s = make_stream(400, kTasks, 5, 17);
  for (std::size_t n = 0; n < s.size(); ++n) s.task[n] = static_cast<Task>((n * 7) % (n / 10 + 1));
  Session session(spec(), {.seed = 3});
  for (const Outcome& outcome : feed(session, s)) EXPECT_TRUE(std::isfinite(outcome.decision.margin));
  EXPECT_GE(session.tasks().size(), 30u);
  std::uint64_t examples = 0;
  for (Task i = 0; i < session.tasks().size(); ++i) examples += session.count(i).examples;
  EXPECT_EQ(examples, s.size());
}

TEST_P(Contract, NoAnswerCostsNothingAndTeachesNothing) {
  const Stream s = make_stream(100, kTasks, 5, 18);
  const NameTable names = task_names(kTasks);
  Session session(spec(), {.seed = 3, .limits = {.total = 50}, .tasks = &names});
  feed(session, s, 0, 50);
  const std::uint64_t bought = session.budget().bought();
  const std::string before = learner_of(session);
  std::uint64_t asked = 0;
  for (std::size_t n = 50; n < 100; ++n) {
    const Outcome outcome = test::feed_one(session, {session.task(task_name(s.task[n])), s.x[n]}, 0);
    EXPECT_EQ(outcome.answer, std::nullopt);
    EXPECT_FALSE(outcome.updated);
    asked += outcome.asked;
  }
  EXPECT_EQ(session.unanswered(), asked);
  EXPECT_EQ(session.budget().bought(), bought);
  if (!GetParam().can().learns_unasked) {
    EXPECT_EQ(learner_of(session), before);
  }
}

/// Half of the examples are answered at once; the others' questions wait, and those that `answered` says are answered then.
template <class Answered>
std::unique_ptr<Session> with_answers(const Spec& spec, const Stream& s, Answered answered) {
  const NameTable names = task_names(kTasks);
  auto out = std::make_unique<Session>(spec, SessionOptions{.seed = 3, .tasks = &names, .keep_labels = 1'000'000});
  std::vector<std::pair<std::uint64_t, std::size_t>> waiting;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e = s.example(n);
    if (2 * n < s.size()) {
      quorate::run_round(*out, {{&e, 1}}, [&](std::size_t) { return Reply(answer_of(s.y[n])); });
    } else if (const Outcome outcome = run_round_later(*out, {{&e, 1}})[0]; outcome.ticket) {
      waiting.emplace_back(*outcome.ticket, n);
    }
  }
  for (const auto& [ticket, n] : waiting)
    if (const int y = answered(n, s.y[n]); y != 0) out->answer(ticket, answer_of(y));
  return out;
}

TEST_P(Contract, WithoutLabelsThatWereTakenBackItIsTheModelThatNeverHadThem) {
  const Stream s = make_stream(120, kTasks, 6, 21);
  if (!GetParam().can().rebuilds) {
    const auto session = with_answers(spec(), s, [](std::size_t, int y) { return y; });
    const std::string before = state_of(*session);
    EXPECT_THROW(session->undo({session->labels()[0].id}), UsageError);
    EXPECT_THROW(session->rebuild(), UsageError);
    EXPECT_EQ(state_of(*session), before);
    return;
  }
  const auto all = with_answers(spec(), s, [](std::size_t, int y) { return y; });
  const std::string bytes = state_of(*all);
  const auto load = [&] {
    const std::span<const std::byte> raw = std::as_bytes(std::span(bytes));
    const Tensors in = read_tensors({raw.size(), [raw](std::size_t begin, std::span<std::byte> out) {
                                       std::copy_n(raw.data() + begin, out.size(), out.data());
                                     }});
    Reader reader(in);
    return std::make_unique<Session>(Session::load(spec(), all->options(), reader));
  };
  Rng rng = make_rng(8, 0);
  for (int history = 0; history < 8; ++history) {
    const bool recount = history % 2 == 1;
    std::vector<std::uint64_t> ids;
    std::vector<bool> gone(s.size());
    const auto taken = load();
    std::size_t n_of_late = 0;
    std::vector<std::size_t> late;  // the examples of the late answers, in their order
    with_answers(spec(), s, [&](std::size_t n, int y) {
      late.push_back(n);
      return y;
    });
    const KeptLabels& labels = taken->labels();
    for (std::size_t i = labels.size() - late.size(); i < labels.size(); ++i, ++n_of_late)
      if (below(3, rng) == 0) {
        ids.push_back(labels[i].id);
        gone[late[n_of_late]] = true;
      }
    taken->undo(ids, recount);
    const auto never = with_answers(spec(), s, [&](std::size_t n, int y) { return gone[n] ? 0 : y; });
    never->rebuild(recount);
    Tensors one, other;
    taken->learner().save(Writer(one));
    never->learner().save(Writer(other));
    ASSERT_EQ(to_bytes(one), to_bytes(other)) << ids.size() << " of " << late.size() << " taken back";
    for (const std::uint64_t id : ids) EXPECT_THROW(taken->undo({id}), UsageError);
  }
}

TEST_P(Contract, ACorrectedLabelIsTheModelThatHadItFromTheStart) {
  if (!GetParam().can().rebuilds) GTEST_SKIP() << "cannot be rebuilt";
  const Stream s = make_stream(60, kTasks, 6, 22);
  std::size_t last = 0;
  const auto wrong = with_answers(spec(), s, [&](std::size_t n, int y) {
    last = n;
    return y;
  });
  if (last == 0) return;  // nothing was asked late
  const auto right = with_answers(spec(), s, [&](std::size_t n, int y) { return n == last ? -y : y; });
  const std::uint64_t id = wrong->labels()[wrong->labels().size() - 1].id;
  wrong->correct(id, answer_of(-s.y[last]));
  right->rebuild();
  Tensors one, other;
  wrong->learner().save(Writer(one));
  right->learner().save(Writer(other));
  EXPECT_EQ(to_bytes(one), to_bytes(other));
}

TEST_P(Contract, ARebuildBesideTheLearnerAtWorkIsTheSameToTheBitAndNobodySeesItBefore) {
  if (!GetParam().can().rebuilds) GTEST_SKIP() << "cannot be rebuilt";
  const Stream s = make_stream(120, kTasks, 6, 23);
  const auto asked = [](std::size_t, int y) { return y; };
  const auto in_place = with_answers(spec(), s, asked), beside = with_answers(spec(), s, asked);
  int rebuilds = 0;
  beside->rebuild_beside([&](const auto& work) {
    ++rebuilds;
    const auto scores = [&] {
      std::vector<double> out;
      for (std::size_t n = 0; n < s.size(); ++n) out.push_back(beside->learner().score(s.example(n)));
      return out;
    };
    const std::vector<double> before = scores();
    work();
    EXPECT_EQ(scores(), before);
  });
  const std::uint64_t first = in_place->labels()[0].id, second = in_place->labels()[1].id;
  const Example e = s.example(3);
  for (Session* session : {in_place.get(), beside.get()}) {
    session->undo({first});
    session->correct(second, kNeither);
    session->forget_example({}, {&e, 1});
    session->forget(session->name_of(1), true);
    session->rebuild();
  }
  EXPECT_EQ(rebuilds, 5);
  EXPECT_EQ(state_of(*beside), state_of(*in_place));
  beside->rebuild_beside([](const auto&) { throw std::bad_alloc(); });  // no memory for two: in place
  in_place->undo({in_place->labels()[0].id});
  beside->undo({beside->labels()[0].id});
  EXPECT_EQ(state_of(*beside), state_of(*in_place));
}

TEST_P(Contract, LabelsMayComeLongAfterTheDecision) {
  const Stream s = make_stream(200, kTasks, 5, 19);
  NameTable tasks = task_names(kTasks);
  Memory memory;
  const auto learner = make_learner(canonical(spec()), {tasks, &memory, false});
  Rng rng = make_rng(5, 1);
  std::vector<Decision> decisions(s.size());
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e = s.example(n);
    learner->decide({{&e, 1}}, rng, {&decisions[n], 1});
    if (n < 50) continue;
    const Decision& d = decisions[n - 50];
    const bool updated = learner->learn(s.example(n - 50), d, answer_of(s.y[n - 50]), rng);
    if (GetParam().can().mistake_driven) {
      EXPECT_EQ(updated, mistaken(s.y[n - 50], d.margin)) << "judged by the prediction that was made";
    }
  }
  for (std::size_t n = 0; n < s.size(); ++n) EXPECT_TRUE(std::isfinite(learner->score(s.example(n))));
  EXPECT_NE(learner->score(s.example(0)), 0);
}

TEST_P(Contract, ALabelOfWeightTwoTeachesAsTwoLabelsWould) {
  const Stream s = make_stream(80, kTasks, 5, 23);
  const auto taught = [&](std::vector<double> weights) {
    auto model = new_model(spec());
    for (std::size_t n = 0; n < s.size(); ++n) model->session.see(s.example(n).x);
    for (std::size_t n = 0; n < s.size(); ++n) {
      const Task task = model->session.task("t" + std::to_string(s.task[n]));
      Example e = s.example(n);
      e.task = task;
      if (n < s.size() - 1) {
        model->session.give(e, answer_of(s.y[n]));
        continue;
      }
      for (const double weight : weights) {
        e.weight = weight;
        model->session.give(e, answer_of(s.y[n]));
      }
    }
    std::vector<double> margins;
    for (std::size_t n = 0; n < s.size(); ++n) margins.push_back(model->session.learner().score(s.example(n)));
    return margins;
  };
  const auto once = taught({1}), twice = taught({1, 1}), weighed = taught({2}), more = taught({1, 1, 0.5});
  if (!GetParam().can().weighs) {
    EXPECT_EQ(weighed, twice);
    EXPECT_EQ(taught({2.5}), more);
    return;
  }
  double apart = 0, moved = 0;  // in one step: the same up to what the second label changed of how sure the first made it
  for (std::size_t n = 0; n < s.size(); ++n) {
    apart += std::abs(weighed[n] - twice[n]);
    moved += std::abs(twice[n] - once[n]);
  }
  EXPECT_LE(apart, moved);
}

TEST_P(Contract, ALabelOfHalfTheWeightMovesItsMarginLess) {
  const Stream s = make_stream(10, 1, 5, 24, true);
  const auto margin_of = [&](double weight, Answer y) {
    auto model = new_model(spec());
    for (std::size_t n = 0; n < s.size(); ++n) model->session.see(s.example(n).x);
    Example e = s.example(0);
    e.task = model->session.task("t");
    e.weight = weight;
    model->session.give(e, y);
    return static_cast<double>(y) * model->session.learner().score(e);
  };
  // Of the label that a margin of 0 does not predict: each learner learns from that.
  const auto margin = [&](double weight) { return std::max(margin_of(weight, kYes), margin_of(weight, kNo)); };
  EXPECT_GT(margin(0.5), 0);
  EXPECT_LT(margin(0.5), margin(1));
  EXPECT_LE(margin(1), margin(1000));
  for (const double weight : {0.0, -1.0, 1001.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(margin(weight), UsageError) << weight;
}

TEST_P(Contract, TheSteadyStateAllocatesNothing) {
  if (GetParam().grows()) GTEST_SKIP() << "grows with every mistake";
  for (const bool holes : {false, true}) {
    if (holes && GetParam().can().keeps_instances)
      continue;  // a longer vector than the one that left needs memory of its own
    const Stream s = make_stream(150, kTasks, 7, 20, holes);
    const NameTable names = task_names(kTasks);
    Session session(spec(), {.seed = 3, .tasks = &names});
    std::vector<Task> task;
    for (const Task i : s.task) task.push_back(session.task(task_name(i)));
    std::size_t n = 0;
    const auto oracle = [&](std::size_t) { return s.y[n]; };
    std::uint64_t seen = 0;
    const auto pass = [&] {
      for (n = 0; n < s.size(); ++n) {
        const Example e{task[n], s.x[n]};
        Outcome outcome;
        run_round(session, {&e, 1}, oracle, {&outcome, 1});
      }
      seen += s.size();
    };
    for (int warm = 0; warm < (GetParam().counts() ? 12 : 4); ++warm) pass();
    if (spec().word == "cohort")  // until the labels that it replays were replaced twice
      while (session.total().labels < 3 * 512) pass();
    if (GetParam().has("represent=svd")) {  // what it keeps was replaced, and no work of doubling sizes is near
      const auto near = [&] {
        for (std::uint64_t size = 200; size <= seen + 4 * s.size(); size *= 2)
          if (size >= seen) return true;
        return false;
      };
      while (seen < 3000 || near()) pass();
    }
    EXPECT_LE(session.model_bytes(), session.peak_bytes());
    EXPECT_GT(session.model_bytes(), 0u);
    const std::size_t bytes = session.model_bytes(), peak = session.peak_bytes();
    const std::uint64_t before = allocations(), updates = session.total().updates;
    for (int more = 0; more < 3; ++more) pass();
    EXPECT_EQ(allocations(), before);
    EXPECT_EQ(session.model_bytes(), bytes);
    EXPECT_EQ(session.peak_bytes(), peak);
    RecordProperty("updates", static_cast<int>(session.total().updates - updates));
  }
}

TEST_P(Contract, EveryByteItOwnsIsCounted) {
  const Stream s = make_stream(60, kTasks, GetParam().squares_features() ? 40 : 3000, 21, true);
  const NameTable names = task_names(kTasks);
  const std::size_t before = live_bytes();
  Session session(spec(), {.seed = 3, .tasks = &names});
  feed(session, s);
  const std::size_t owned = live_bytes() - before;
  EXPECT_GT(session.model_bytes(), 30'000u);
  EXPECT_LE(session.model_bytes(), owned);
  const std::size_t scaled = GetParam().counts() ? 2 * 3000 * sizeof(double) : 0;
  std::size_t instance = 0;
  for (const Vector& x : s.x) instance = std::max(instance, 2 * x.view().size() * (sizeof(Index) + sizeof(double)));
  EXPECT_LE(owned, session.model_bytes() + 8192 + scaled + instance + session.model_bytes() / 32)
      << "what is not model: spec, scratch of a round and of an instance, rounding of the heap";
}

TEST_P(Contract, AFactorOnItsBAsksMoreOrLessAndOneChangesNothing) {
  const Stream s = make_stream(300, kTasks, 5, 23);
  const bool paced = GetParam().can().paced;
  const auto asked = [&](std::optional<double> factor) {
    NameTable tasks = task_names(kTasks);
    Memory memory;
    const auto learner = make_learner(canonical(spec()), {tasks, &memory, false});
    Rng rng = make_rng(5, 1);
    std::vector<Decision> out;
    for (std::size_t n = 0; n < s.size(); ++n) {
      const Example e = s.example(n);
      if (n == 100 && factor) {
        learner->set_query_scale(*factor);
      }
      Decision d;
      learner->decide({{&e, 1}}, rng, {&d, 1});
      if (n < 100) learner->learn(e, d, answer_of(s.y[n]), rng);
      if (n >= 100) out.push_back(d);
    }
    return out;
  };
  const auto number = [](const std::vector<Decision>& all) {
    return std::count_if(all.begin(), all.end(), [](const Decision& d) { return d.ask; });
  };
  const auto as_given = asked(std::nullopt), same = asked(1), more = asked(1e6), less = asked(1e-6);
  for (std::size_t n = 0; n < same.size(); ++n) EXPECT_TRUE(same_bits(same[n].probability, as_given[n].probability));
  EXPECT_EQ(number(same), number(as_given));
  EXPECT_EQ(number(more) > number(less), paced) << "nothing else decides how much is asked";
  if (paced) {
    EXPECT_GE(number(more), 195);
    EXPECT_LE(number(less), 40) << "margins of 0 only";
  }
}

TEST_P(Contract, ItsCanonicalSpecIsItsOwnCanonicalSpec) {
  const Spec full = canonical(spec());
  const std::string text = to_text(full);
  EXPECT_EQ(to_text(parse_spec(text)), text);
  EXPECT_EQ(to_text(canonical(parse_spec(text))), text);
  EXPECT_EQ(to_text(Session(spec(), {.seed = 1}).spec()), text);
}

TEST_P(Contract, AModelOfAnotherLearnerIsRefused) {
  const Stream s = make_stream(40, kTasks, 5, 22);
  const auto model = new_model(spec(), 3);
  feed(model->session, s);
  const Tensors saved = from_bytes(model->to_bytes());
  for (const Algorithm& other : algorithms()) {
    if (other.name == GetParam().spec.word) continue;
    Tensors changed = saved;
    changed.metadata["learner"] = std::string(other.name);
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << other.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Contract, testing::ValuesIn(all_settings()), setting_name);

// --- what the registry says of a learner ---

void check_params(const std::vector<ParamInfo>& params, const std::string& where) {
  for (const ParamInfo& p : params) {
    EXPECT_FALSE(p.name.empty()) << where;
    EXPECT_FALSE(p.meaning.empty()) << where << "." << p.name;
    EXPECT_FALSE(p.source.empty()) << where << "." << p.name;
    EXPECT_FALSE(p.type.empty()) << where << "." << p.name;
    EXPECT_EQ(p.type == "choice", !p.choices.empty()) << where << "." << p.name;
    for (const ChoiceInfo& c : p.choices) {
      EXPECT_FALSE(c.meaning.empty()) << where << "." << p.name << "." << c.name;
      check_params(c.params, where + "." + p.name + "." + c.name);
    }
  }
}

TEST(Registry, EveryParameterIsDescribed) {
  EXPECT_FALSE(algorithms().empty());
  for (const Algorithm& a : algorithms()) {
    EXPECT_FALSE(a.title.empty()) << a.name;
    EXPECT_FALSE(a.source.empty()) << a.name;
    check_params(a.params(), std::string(a.name));
    EXPECT_EQ(&algorithm({std::string(a.name), {}}), &a);
  }
}

TEST(Registry, DefaultsAreWhatTheDescriptionSays) {
  for (const Algorithm& a : algorithms()) {
    const Spec full = canonical({std::string(a.name), {}});
    const std::vector<ParamInfo> params = a.params();
    ASSERT_EQ(full.args.size(), params.size()) << a.name;
    for (std::size_t i = 0; i < params.size(); ++i) {
      EXPECT_EQ(full.args[i].key, params[i].name);
      EXPECT_EQ(to_text(full.args[i].value), params[i].initial);
    }
  }
}

std::string refusal(const std::string& spec) {
  try {
    canonical(parse_spec(spec));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Registry, ARefusalNamesTheValueAndWhatWasExpected) {
  EXPECT_THAT(refusal("perceptrom"), AllOf(HasSubstr("'perceptrom'"), HasSubstr("perceptron"), HasSubstr("amtl")));
  EXPECT_THAT(refusal("cmtl(grahp=complete)"), AllOf(HasSubstr("'grahp'"), HasSubstr("graph"), HasSubstr("query")));
  EXPECT_THAT(refusal("cmtl(graph=star)"), AllOf(HasSubstr("star"), HasSubstr("complete"), HasSubstr("edges")));
  EXPECT_THAT(refusal("cmtl(query=always, query=always)"), AllOf(HasSubstr("'query'"), HasSubstr("twice")));
  EXPECT_THAT(refusal("cmtl(query=always(b=1))"), AllOf(HasSubstr("'b'"), HasSubstr("none")));
  EXPECT_THAT(refusal("perceptron(query=similarity)"), HasSubstr("similarity"));
  for (const std::string bad : {"0", "-1", "inf", "nan", "-inf", "1e999", "x", "1x", "0x1", "\"\"", "1(a=2)", "\" 1\""})
    EXPECT_THAT(refusal("cmtl(query=margin(b=" + bad + "))"), AllOf(HasSubstr("b=" + bad), HasSubstr("expected")));
  for (const std::string bad : {"-0.1", "1.1", "inf", "nan"})
    EXPECT_THAT(refusal("perceptron(query=random(p=" + bad + "))"), AllOf(HasSubstr("p=" + bad), HasSubstr("from 0 to 1")));
  for (const std::string good : {"0", "1", "1e-3", "0.5"})
    EXPECT_EQ(refusal("perceptron(query=random(p=" + good + "))"), "accepted") << good;
}

}  // namespace
}  // namespace quorate::test
