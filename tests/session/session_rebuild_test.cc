// undo, correct, forget and rebuild: whatever happened before, the model is that of a session which never had the labels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "quorate/learner.h"
#include "support/make.h"
#include "support/settings.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

constexpr std::uint32_t kUsers = 5;  // or tasks; the last comes only to be forgotten

std::string learner_of(const Session& session) {
  Tensors out;
  session.learner().save(Writer(out));
  return to_bytes(out);
}

/// What a history is made with.
struct Shape {
  std::uint64_t seed = 1;
  std::uint32_t classes = 1;
  bool audits = false, limited = false, selects = false;
  bool all = false;  // no instance is counted that is no example, so that a rebuild has all that was counted
};

Shape draw_shape(const Setting& setting, Rng& rng) {
  const Capabilities can = setting.can();
  Shape out{.seed = rng(), .selects = can.selects};
  out.classes = can.groups && below(3, rng) == 0 ? 3 : 1;
  out.audits = below(2, rng) == 0;
  out.limited = below(2, rng) == 0;
  out.all = below(2, rng) == 0;
  return out;
}

/// Two sessions with one history, except that one of them has labels, wrong answers and a task that the other never had.
class Twins {
 public:
  Twins(const Spec& spec, const Shape& shape, Rng& rng)
      : shape_(shape),
        rng_(rng),
        names_(task_names(kUsers)),
        with_(spec, options()),
        without_(spec, options()),
        stream_(make_stream(400, kUsers, 6, shape.seed, shape.seed % 2 == 0)) {}

  /// Rounds of one example or a few, of any weight; answers now, later, never, and of neither; labels given and asked for.
  void live_through(std::size_t rounds) {
    for (std::size_t n = 0; n < rounds; ++n) {
      const auto kind = below(10, rng_);
      if (kind == 0 && !shape_.all) {
        const Example e = example(task());
        const Answer y = answer();
        both([&](Session& s) {
          s.see(e.x);
          s.give(e, y);
        });
      } else if (kind == 1) {
        const Example e = example(task());
        const auto one = with_.ask(e);
        ASSERT_EQ(one, without_.ask(e));
        if (one) waiting_.push_back(*one);
      } else if (kind == 2 && !waiting_.empty()) {
        const std::uint64_t ticket = take_ticket();
        if (below(4, rng_) == 0)
          both([&](Session& s) { s.withdraw(ticket); });
        else
          answer_both(ticket);
      } else {
        decide();
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// Answers that only one of them gets, or gets wrong, and labels that are given to it alone; and others between them.
  void part(std::size_t answers) {
    const std::vector<Example> between = instance(task());  // so that none of the answers comes at once
    both([&](Session& s) { run_round(s, {between, between.size()}, [](std::size_t) { return Reply::unknown(); }); });
    for (std::size_t n = 0; n < answers; ++n) {
      const auto kind = waiting_.empty() ? 3 : below(5, rng_);
      if (kind == 0) {
        answer_both(take_ticket());
      } else if (kind == 1) {
        const std::uint64_t ticket = take_ticket();
        const Answer y = answer();
        const Answer wrong = y == kYes ? kNo : kYes;
        const bool unsure = below(4, rng_) == 0;  // neither, at first
        wrong_.emplace_back(*with_.answer(ticket, unsure ? kNeither : wrong)->label, y);
        without_.answer(ticket, y);
      } else if (kind < 4 && !waiting_.empty()) {
        extra_.push_back(*with_.answer(take_ticket(), answer())->label);
      } else {
        extra_.push_back(*with_.give(example(task()), answer()).label);
      }
    }
  }

  /// All of that is taken back, in any order and in parts, with rebuilds between.
  void meet_again(bool strict) {
    while (!extra_.empty() || !wrong_.empty()) {
      const std::uint64_t n = std::min<std::uint64_t>(extra_.size(), 1 + below(4, rng_));
      if (!wrong_.empty() && (n == 0 || below(2, rng_) == 0)) {
        with_.correct(wrong_.back().first, wrong_.back().second);
        wrong_.pop_back();
      } else {
        shuffle(std::span(extra_), rng_);
        with_.undo({extra_.end() - static_cast<std::ptrdiff_t>(n), extra_.end()}, strict && below(2, rng_) == 0);
        extra_.resize(extra_.size() - n);
      }
    }
    both([&](Session& s) { s.rebuild(strict); });
    compare("after labels were taken back");
  }

  void forget_in_both(bool strict) {
    const Task first = task();
    const std::string name(with_.name_of(first));
    both([&](Session& s) { s.forget(name, strict); });
    std::erase_if(waiting_, [&](std::uint64_t ticket) { return with_.pending().find(ticket) == nullptr; });
    compare("after a task was forgotten");
  }

  /// The last task comes to one of them alone. The end of the history, as its examples draw.
  void forget_who_never_came() {
    const auto last = static_cast<Task>((kUsers - 1) * shape_.classes);
    for (int n = 0; n < 12; ++n) {
      std::vector<Example> round = instance(last);
      const Round one{round, round.size()};
      run_round(with_, one, [&](std::size_t) { return below(3, rng_) == 0 ? Reply::later() : Reply(answer()); });
    }
    with_.forget(task_name(kUsers - 1), true);
    without_.rebuild(true);
    compare("after the forgotten task");
    with_.rebuild(true);
    compare("after it, once more");
  }

  bool kept_all() const { return with_.labels().share() == 1 && without_.labels().share() == 1; }

 private:
  SessionOptions options() const {
    return {.seed = shape_.seed,
            .tasks = &names_,
            .tasks_per_name = shape_.classes,
            .memory_limit = shape_.limited ? 16'000'000 : Memory::kNoLimit,
            .audit = shape_.audits ? 0.2 : 0.0,
            .keep_labels = shape_.limited ? 1'600'000u : 800'000u};
  }
  template <class Work>
  void both(Work work) {
    work(with_);
    work(without_);
  }
  /// The first task of a user; not of the last.
  Task task() { return static_cast<Task>(below(kUsers - 1, rng_) * shape_.classes); }
  Answer answer() { return below(2, rng_) == 0 ? kYes : kNo; }
  Example example(Task first) {
    const auto group = static_cast<std::uint32_t>(below(shape_.classes, rng_));
    constexpr double kWeights[]{1, 1, 1, 0.5, 2, 3.25};
    next_ = (next_ + 1) % stream_.size();
    return {first + group, stream_.x[next_].view(), group, kWeights[below(6, rng_)]};
  }
  /// One instance for all classes of a user.
  std::vector<Example> instance(Task first) {
    std::vector<Example> out(shape_.classes, example(first));
    for (std::uint32_t c = 0; c < shape_.classes; ++c) {
      out[c].task = first + c;
      out[c].group = c;
    }
    return out;
  }

  void decide() {
    std::vector<Example> round;
    const std::uint64_t instances = shape_.selects ? 2 + below(3, rng_) : 1 + below(2, rng_);
    for (std::uint64_t n = 0; n < instances; ++n) std::ranges::copy(instance(task()), std::back_inserter(round));
    std::vector<Reply> replies;
    for (std::size_t n = 0; n < round.size(); ++n) {
      const auto kind = below(10, rng_);
      replies.push_back(kind < 5   ? Reply(answer())
                        : kind < 8 ? Reply::later()
                        : kind < 9 ? Reply::unknown()
                                   : Reply(kNeither));
    }
    const Round one{round, shape_.classes};
    const auto reply = [&](std::size_t n) { return replies[n]; };
    const auto had = run_round(with_, one, reply), had_not = run_round(without_, one, reply);
    for (std::size_t n = 0; n < round.size(); ++n) {
      ASSERT_EQ(had[n], had_not[n]);
      if (had[n].ticket) waiting_.push_back(*had[n].ticket);
    }
  }
  std::uint64_t take_ticket() {
    std::swap(waiting_[below(waiting_.size(), rng_)], waiting_.back());
    const std::uint64_t out = waiting_.back();
    waiting_.pop_back();
    return out;
  }
  void answer_both(std::uint64_t ticket) {
    const Answer y = answer();
    both([&](Session& s) { s.answer(ticket, y); });
  }
  void compare(const char* when) { ASSERT_EQ(learner_of(with_), learner_of(without_)) << when; }

  Shape shape_;
  Rng& rng_;
  NameTable names_;
  Session with_, without_;
  Stream stream_;
  std::size_t next_ = 0;
  std::vector<std::uint64_t> waiting_, extra_;           // tickets; labels of the one
  std::vector<std::pair<std::uint64_t, Answer>> wrong_;  // its labels that are wrong, and what is right
};

using Rebuild = EveryLearner;

std::vector<Setting> that_can() {
  std::vector<Setting> out = all_settings();
  std::erase_if(out, [](const Setting& s) { return !s.can().rebuilds; });
  return out;
}

/// QUORATE_HISTORIES: least number of histories of each learner, spread over its settings. Without it one of each setting.
int histories_of(const Setting& setting) {
  const char* text = std::getenv("QUORATE_HISTORIES");
  static const std::vector<Setting> all = that_can();
  const auto settings =
      std::ranges::count_if(all, [&](const Setting& other) { return other.spec.word == setting.spec.word; });
  const std::ptrdiff_t least = text != nullptr ? std::atoi(text) : 1;
  return static_cast<int>((least + settings - 1) / settings);
}

TEST_P(Rebuild, WithoutWhatWasTakenBackItIsTheModelThatNeverHadIt) {
  const int histories = histories_of(GetParam());
  Rng rng = make_rng(std::hash<std::string>()(GetParam().name), 0);
  for (int history = 0; history < histories; ++history) {
    SCOPED_TRACE("history " + std::to_string(history));
    const Shape shape = draw_shape(GetParam(), rng);
    Twins twins(spec(), shape, rng);
    // A learner that draws when it learns goes other ways from there on, and more labels earn more audits.
    const bool part_for_ever = algorithm(spec()).own.draws || GetParam().has("zero=random") || shape.audits;
    for (std::uint64_t n = part_for_ever ? 1 : 1 + below(3, rng); n > 0; --n) {
      twins.live_through(10 + below(30, rng));
      if (HasFatalFailure()) return;
      twins.part(1 + below(10, rng));
      twins.meet_again(below(2, rng) == 0);
      if (HasFatalFailure()) return;
      if (below(3, rng) == 0) twins.forget_in_both(below(2, rng) == 0);
      if (HasFatalFailure()) return;
    }
    twins.forget_who_never_came();
    if (HasFatalFailure()) return;
    EXPECT_TRUE(twins.kept_all());
  }
}

// All but what the query rule has seen.
TEST(RebuildOfAll, PredictsToTheBitAsTheLiveModel) {
  for (const char* text :
       {"cohort", "cohort(query=margin(b=0.3), scale=idf)", "cohort(query=always)", "cohort(cost=balanced)"}) {
    const NameTable names = task_names(kUsers);
    Session session(parse_spec(text), {.seed = 3,
                                       .limits = {.total = 150},  // so that some questions are not asked
                                       .tasks = &names,
                                       .audit = 0.1,
                                       .keep_labels = 800'000});
    const Stream stream = make_stream(400, kUsers, 6, 5, true);
    Rng rng = make_rng(1, 0);
    const auto one_more = [&](std::size_t n) {
      const std::vector<Example> one{stream.example(n)};
      run_round(session, {one, 1}, [&](std::size_t) {
        const auto kind = below(10, rng);
        return kind == 0 ? Reply::unknown() : kind == 1 ? Reply(kNeither) : Reply(stream.y[n] > 0 ? kYes : kNo);
      });
    };
    for (std::size_t n = 0; n < 300; ++n) one_more(n);
    const auto margins = [&] {
      std::vector<double> out;
      for (std::size_t n = 0; n < stream.size(); ++n) out.push_back(session.learner().score(stream.example(n)));
      return out;
    };
    const std::vector<double> live = margins();
    session.rebuild();
    EXPECT_EQ(margins(), live) << text;
    session.rebuild(true);
    EXPECT_EQ(margins(), live) << text;
    // Once an instance was counted that is no example, counts stay as they are.
    session.see(stream.x[300].view());
    for (std::size_t n = 301; n < 350; ++n) one_more(n);
    session.rebuild();
    const std::string rebuilt = learner_of(session);
    session.rebuild();
    EXPECT_EQ(learner_of(session), rebuilt) << text;
  }
}

// Their examples had no place but the labels'.
TEST(RebuildOfAll, ExamplesOfAnswersThatCameAtOnceStayAsIfNobodyHadAnswered) {
  for (const char* text : {"cohort(query=always)", "cohort(query=always, scale=idf)", "perceptron(query=always, scale=idf)"})
    for (const bool later : {false, true}) {
      SCOPED_TRACE(text);
      const NameTable names = task_names(kUsers);
      const SessionOptions options{.seed = 3, .tasks = &names, .keep_labels = 800'000};
      Session with(parse_spec(text), options), without(parse_spec(text), options);
      const Stream stream = make_stream(60, kUsers, 6, 5, true);
      std::vector<std::uint64_t> taken_back;
      for (std::size_t n = 0; n < stream.size(); ++n) {
        const std::vector<Example> one{stream.example(n)};
        const Answer y = stream.y[n] > 0 ? kYes : kNo;
        const bool wrong = n == 0 || n == 13 || n == 14 || n == 40 || n == 59;
        const auto unless = [&](bool silent) { return [=](std::size_t) { return silent ? Reply::unknown() : Reply(y); }; };
        run_round(without, {one, 1}, unless(wrong || n % 7 == 5));
        if (wrong && later)
          taken_back.push_back(*with.answer(*run_round_later(with, {one, 1})[0].ticket, y)->label);
        else if (const Outcome outcome = run_round(with, {one, 1}, unless(!wrong && n % 7 == 5))[0]; wrong)
          taken_back.push_back(*outcome.label);
      }
      ASSERT_EQ(taken_back.size(), 5u);
      taken_back.push_back(taken_back[1]);  // once is enough
      with.undo(taken_back);
      without.rebuild();
      EXPECT_EQ(learner_of(with), learner_of(without));
    }
}

TEST(RebuildOfAll, ForgettingALabelsExampleLeavesAnEqualOneThatNobodyWasAskedAbout) {
  const NameTable names = task_names(kUsers);
  const SessionOptions options{.seed = 3, .tasks = &names, .keep_labels = 800'000};
  Session both(parse_spec("cohort(query=always)"), options), one(parse_spec("cohort(query=always)"), options);
  const Stream stream = make_stream(30, kUsers, 6, 5, true);
  const auto show = [&](Session& s, std::size_t n, Reply reply) {
    const std::vector<Example> round{stream.example(n)};
    return run_round(s, {round, 1}, [=](std::size_t) { return reply; })[0].label;
  };
  for (std::size_t n = 0; n < stream.size(); ++n)
    for (Session* s : {&both, &one}) show(*s, n, stream.y[n] > 0 ? kYes : kNo);
  const std::uint64_t label = *show(both, 7, kYes);
  for (Session* s : {&both, &one}) show(*s, 7, Reply::unknown());
  const std::vector<Example> round{stream.example(7)};
  both.forget_example({label}, round);
  one.rebuild();
  EXPECT_EQ(learner_of(both), learner_of(one));
}

TEST(RebuildOfFiles, AreNotReadAgainSoThatAForgottenNameStaysForgotten) {
  const TempDir dir;
  const std::string edges = dir.write("edges.csv", "from,to\nt0,t1\nt1,t2\nt2,t3\n"),
                    weights = dir.write("weights.csv", "task,weight\nt1,3\n");
  for (const std::string& text :
       {"amtl(graph=edges(file=" + edges + "))", "cmtl(graph=edges(file=" + edges + "))",
        "kernel-perceptron(graph=edges(file=" + edges + "))", "shampo(prior=weights(file=" + weights + "))",
        "cohort(query=shared(prior=weights(file=" + weights + ")))"}) {
    SCOPED_TRACE(text);
    Session session(parse_spec(text), {.seed = 1, .keep_labels = 100'000});
    const Stream stream = make_stream(40, 4, 4, 1);
    feed(session, stream);
    session.rebuild();
    const std::string before = learner_of(session);
    std::filesystem::rename(edges, edges + ".away");
    std::filesystem::rename(weights, weights + ".away");
    session.rebuild();
    EXPECT_EQ(learner_of(session), before) << text;
    session.forget("t1", true);
    const std::string after = learner_of(session);
    session.rebuild(true);
    EXPECT_EQ(learner_of(session), after) << text;
    EXPECT_EQ(session.known_task("t1"), kUntracked) << text;
    std::filesystem::rename(edges + ".away", edges);
    std::filesystem::rename(weights + ".away", weights);
  }
}

INSTANTIATE_TEST_SUITE_P(Learners, Rebuild, testing::ValuesIn(that_can()), setting_name);

}  // namespace
}  // namespace quorate::test
