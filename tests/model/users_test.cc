// Users and classes at once: a user has a task of each class; tasks of one class share, those of different classes do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"
#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "quorate/registry.h"
#include "support/edit.h"
#include "support/make.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;
using enum Reduction::Kind;
const std::vector<std::string> kNames{"ham", "spam", "urgent"};

Model make(const std::string& learner, Reduction::Kind reduction = kOneVsRest, LearningOptions options = {}) {
  options.seed = 3;
  return Model::make(parse_spec(learner), options, {}, Labels::of_classes(ClassNames(kNames), false),
                     Reduction(reduction, kNames, true));
}

/// Shows the model an instance of the user, of this class.
void show(Model& model, const std::string& user, const Vector& x, std::size_t of_class) {
  model.learn({model.task(user), x}, Label::of_class(of_class));
}

std::vector<double> margins(const Model& model, Task first, const Vector& x) {
  std::vector<double> out;
  model.reduction.score(model.session.learner(), first, x, out);
  return out;
}

TEST(Users, HaveConsecutiveTasksEachOfOneName) {
  Session session(parse_spec("cohort"), {.seed = 1, .tasks_per_name = 3});
  EXPECT_EQ(session.task("ann"), 0u);
  EXPECT_EQ(session.task("bob"), 3u);
  EXPECT_EQ(session.task("ann"), 0u);
  EXPECT_EQ(session.known_task("bob"), 3u);
  EXPECT_EQ(session.known_task("cid"), kUntracked);
  EXPECT_EQ(session.tasks().size(), 2u);
  EXPECT_EQ(session.task_count(), 6u);
  EXPECT_EQ(session.name_of(2), "ann");
  EXPECT_EQ(session.name_of(3), "bob");
  EXPECT_EQ(session.name_of(kUntracked), "");
  const Vector x = dense({1});
  for (const Example& e : {Example{6, x}, Example{0, x, 3}}) {
    const std::vector<Example> round{e};
    EXPECT_THROW(session.decide({round}), UsageError);
  }
}

TEST(Users, CountTogetherAndAnInstanceOnce) {
  Model model = make("perceptron");
  show(model, "ann", dense({1, 0}), 0);
  show(model, "ann", dense({1, 0}), 1);
  show(model, "bob", dense({1, 0}), 2);
  const TaskCounters ann = model.session.count_of_name(0), bob = model.session.count_of_name(1);
  EXPECT_EQ(ann.examples, 2u);
  EXPECT_EQ(ann.labels, 6u);
  EXPECT_EQ(bob.examples, 1u);
  EXPECT_EQ(bob.mistakes, 1u) << "an urgent one was not predicted, the other two are no";
  EXPECT_EQ(model.session.total().examples, 9u);
}

// As Cohort.ThreeRoundsByHand, with the first step for a task of group 0 and the second for one of group 1: then p = E (w_00
// + w_10) / 2 = 0.189362 of another task, and with O (v_000 + v_100) / 2 of the same one 0.304035.
TEST(Users, OfACohortShareEachClassAndNothingBetweenClasses) {
  Session session(parse_spec("cohort(query=always, noise=0.5, eta=0, replays=0, scale=none)"),
                  {.seed = 1, .tasks_per_name = 2});
  const Task ann = session.task("ann"), bob = session.task("bob");
  feed_one(session, {ann, dense({1, 0}), 0}, 1);
  const auto score = [&](Task task, std::uint32_t group) { return session.learner().score({task, dense({1, 0}), group}); };
  EXPECT_NEAR(score(ann, 0), 0.304035, 2e-6);
  EXPECT_NEAR(score(bob, 0), 0.189362, 2e-6);
  EXPECT_NEAR(score(kUntracked, 0), 0.189362, 2e-6);
  for (const Task task : {ann + 1, bob + 1, kUntracked}) EXPECT_EQ(score(task, 1), 0) << "another class";
  feed_one(session, {bob + 1, dense({1, 0}), 1}, -1);
  EXPECT_NEAR(score(bob + 1, 1), -0.304035, 2e-6);
  EXPECT_NEAR(score(ann, 0), 0.304035, 2e-6) << "as before";
}

TEST(Users, UnknownOnesArePredictedByWhatAllShare) {
  Model model = make("cohort(query=always, scale=none)");
  const Vector a = dense({1, 0, 0}), b = dense({0, 1, 0});
  for (int n = 0; n < 20; ++n)
    for (const char* user : {"ann", "bob"}) {
      show(model, user, a, user[0] == 'a' ? 0 : 1);  // on a they differ
      show(model, user, b, 2);
    }
  Reduction::Ballot ballot;
  const auto predicted_class = [&](const char* user, const Vector& x) {
    return model.reduction.predict(margins(model, model.session.known_task(user), x), ballot).label;
  };
  EXPECT_EQ(predicted_class("ann", a), 0u);
  EXPECT_EQ(predicted_class("bob", a), 1u);
  for (const char* user : {"ann", "bob", "cid"}) EXPECT_EQ(predicted_class(user, b), 2u);
  EXPECT_EQ(margins(model, model.session.known_task("cid"), b), margins(model, kUntracked, b));
}

TEST(Users, AreSavedWithTheirQuestions) {
  for (const auto reduction : {kOneVsRest, kOneVsOne})
    for (const char* learner : {"cohort", "perceptron(query=random)", "shampo", "cohort(query=shared)"}) {
      Model never = make(learner, reduction);
      std::optional<Model> often = make(learner, reduction);
      const Stream s = make_stream(120, 4, 5, 17);
      for (std::size_t n = 0; n < s.size(); ++n) {
        if (n % 11 == 0) {
          const std::string bytes = often->to_bytes();
          often.emplace(Model::from_bytes(bytes));
          EXPECT_TRUE(often->reduction.users());
          EXPECT_EQ(often->to_bytes(), bytes);
        }
        for (Model* model : {&never, &*often}) show(*model, task_name(s.task[n]), s.x[n], n % 3);
      }
      EXPECT_GT(never.session.total().labels, 20u);
      EXPECT_EQ(never.to_bytes(), often->to_bytes()) << learner;
      EXPECT_EQ(never.question({4, {}, 1}), std::string(never.session.name_of(4)) + ": " + never.reduction.question(1));
      EXPECT_EQ(never.question({kUntracked, {}, 1}), never.reduction.question(1));
    }
}

TEST(Users, WhoDoNotFitKeepTheClassOfTheirPendingQuestions) {
  Model model = make("cohort(query=always, scale=none)", kOneVsRest, {.memory = ByteSize{300'000}, .keep_labels = {0}});
  const Vector x = dense({1, 0.5});
  std::size_t untracked = 0;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const Task first = model.session.task("a user with a rather long name " + std::to_string(i));
    untracked += first == kUntracked;
    model.learn({first, x}, Label::of_class(1));
    ASSERT_LE(model.session.peak_bytes(), 300'000u);
  }
  EXPECT_GT(untracked, 1000u);
  EXPECT_EQ(model.session.ledger().untracked().examples, 3 * untracked);
  EXPECT_LT(margins(model, kUntracked, x)[0], -0.2);
  EXPECT_GT(margins(model, kUntracked, x)[1], 0.2);

  const Task last = model.session.first_task(static_cast<std::uint32_t>(model.session.tasks().size() - 1));
  const std::array round{Instance{kUntracked, x}, Instance{last, x}};
  std::vector<std::uint64_t> tickets;
  for (const Outcome& outcome : model.decide(round).outcomes)
    if (outcome.ticket) tickets.push_back(*outcome.ticket);
  ASSERT_EQ(tickets.size(), 2u) << "one question an instance";
  Model back = Model::from_bytes(model.to_bytes());
  EXPECT_EQ(back.to_bytes(), model.to_bytes());
  for (std::size_t n = 0; n < tickets.size(); ++n) {
    const auto* item = back.session.pending().find(tickets[n]);
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(item->task, n == 0 ? kUntracked : last + 1);
    EXPECT_EQ(item->group, 1u);
    EXPECT_EQ(back.question(item->example()),
              (n == 0 ? "" : std::string(back.session.name_of(last)) + ": ") + "class = " + kNames[1] + "?");
  }
  const double before = margins(back, kUntracked, x)[2];
  EXPECT_TRUE(back.answer(tickets[0], Label::of_class(2))->updated);
  model.answer(tickets[0], Label::of_class(2));
  EXPECT_GT(margins(back, kUntracked, x)[2], before) << "the class that was said";
  EXPECT_EQ(margins(back, kUntracked, x), margins(model, kUntracked, x));
}

TEST(Users, AskedAboutByASharedAnnotatorWithoutMemoryCostNone) {
  Model model = make("cohort(query=shared, scale=none)", kOneVsRest, {.memory = ByteSize{300'000}, .keep_labels = {0}});
  for (std::uint32_t i = 0; i < 3000; ++i)
    show(model, "a user with a rather long name " + std::to_string(i), dense({1, 0.5}), i % 3);
  EXPECT_GT(model.session.ledger().untracked().labels, 100u);
  EXPECT_EQ(Model::from_bytes(model.to_bytes()).to_bytes(), model.to_bytes());
}

TEST(Users, AreRefusedByLearnersThatKnowNoGroups) {
  for (const char* learner : {"cmtl", "amtl", "peer", "amlc", "kernel-perceptron", "budget-random"}) {
    try {
      make(learner);
      FAIL() << learner;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(learner), HasSubstr(learners_with(&Capabilities::groups))));
    }
    EXPECT_THROW(Session(parse_spec(learner), {.seed = 1, .tasks_per_name = 2}), UsageError);
  }
  EXPECT_NO_THROW(make("perceptron"));
}

TEST(Users, OfAFileThatDoNotFitTheClassesAreRefused) {
  Model model = make("cohort");
  show(model, "ann", dense({1, 0}), 0);
  const std::string good = model.to_bytes();
  EXPECT_NO_THROW(Model::from_bytes(good));
  const auto bad = [&](auto change) {
    Tensors t = read_tensors(Column<std::byte>(
        {reinterpret_cast<const std::byte*>(good.data()), reinterpret_cast<const std::byte*>(good.data()) + good.size()}));
    change(t);
    EXPECT_THROW(Model::from_bytes(to_bytes(t)), DataError);
  };
  bad([](Tensors& t) { t.metadata.erase("users"); });
  bad([](Tensors& t) { t.metadata["classes"] = ""; });
}

}  // namespace
}  // namespace quorate::test
