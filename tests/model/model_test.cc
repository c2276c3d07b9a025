#include "quorate/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/rng.h"
#include "quorate/learner.h"
#include "quorate/model/round_builder.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"
#include "support/allocations.h"
#include "support/edit.h"
#include "support/make.h"
#include "support/model_bytes.h"
#include "support/settings.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

/// A model of the setting that has learned from a CSV file with columns, words and text.
Model trained(const Spec& spec, const TempDir& dir) {
  const Stream s = make_stream(60, 6, 3, 61);
  std::string text = "id,task,label,a,b,c,text,kind\n";
  for (std::size_t n = 0; n < s.size(); ++n)
    text += std::to_string(n) + "," + task_name(s.task[n]) + "," + (s.y[n] > 0 ? "yes" : "no") + "," +
            shortest(s.x[n].value[0]) + "," + shortest(s.x[n].value[1]) + "," + shortest(s.x[n].value[2]) + ",word" +
            std::string(n % 7, 'x') + " other," + (n % 2 ? "odd" : "even") + "\n";
  ReadOptions options;
  options.categorical = {"kind"};
  const LearningOptions learning{.labels = {"50"}, .keep_labels = {0}, .seed = 3};
  Model model = Model::make(spec, learning, {.bits = 0, .ngrams = 2}, Labels("yes"));
  ExampleReader examples(dir.write("train.csv", text), options, model.featurizer, model.labels);
  for (ExampleReader::Item item; examples.next(item);) {
    const Task task = model.session.task(item.task);
    feed_one(model.session, {task, item.x}, item.label.answer());
  }
  return model;
}

TEST(Model, IsWrittenAndReadBack) {
  const TempDir dir;
  const Model model = trained(parse_spec("cmtl(query=margin)"), dir);
  const std::string path = dir.at("model.quorate");
  model.save(path);
  EXPECT_EQ(read_file(path), model.to_bytes());
  const Model back = Model::load(path);
  EXPECT_EQ(back.to_bytes(), model.to_bytes());
  EXPECT_EQ(back.labels.word(1), "yes");
  EXPECT_EQ(back.labels.word(-1), "no");
  EXPECT_EQ(back.featurizer.settings(), model.featurizer.settings());
  EXPECT_EQ(back.session.total().labels, model.session.total().labels);
}

/// Trains on new names without end, some with every line of a CSV file that is read in two parts.
void learn_names(Model& model, const TempDir& dir, int begin, int end) {
  std::string text = "task,label,text\n";
  for (int n = begin; n < end; ++n)
    text += std::string("t,") + (n % 2 ? "1" : "-1") + "," + std::string(5, static_cast<char>('a' + n % 26)) +
            std::string(static_cast<std::size_t>(1 + n % 40), static_cast<char>('a' + n / 26 % 26)) +
            std::string(1, static_cast<char>('a' + n / 676 % 26)) + " again\n";
  ExampleReader examples(dir.write("names.csv", text), {}, model.featurizer, model.labels);
  model.begin_file();
  for (ExampleReader::Item item; examples.next(item);)
    feed_one(model.session, {model.session.task(item.task), item.x}, item.label.answer());
}

TEST(Model, NamesThatAreKeptStayWithinTheMemoryLimitAndSavingChangesNothing) {
  const TempDir dir;
  constexpr std::size_t kLimit = 200'000;
  const auto make = [] {
    return Model::make(parse_spec("perceptron"), {.memory = ByteSize{kLimit}, .keep_labels = {0}}, {.bits = 0}, Labels{});
  };
  Model whole = make(), parts = make();
  learn_names(whole, dir, 0, 3000);
  learn_names(parts, dir, 0, 1500);
  const std::string path = dir.at("model");
  parts.save(path);
  Model back = Model::load(path);
  EXPECT_EQ(back.featurizer.bytes(), parts.featurizer.bytes());
  learn_names(whole, dir, 3000, 4000);
  learn_names(back, dir, 1500, 3000);
  learn_names(back, dir, 3000, 4000);
  EXPECT_GT(whole.featurizer.names_left_out(), 100u);
  EXPECT_EQ(back.featurizer.names_left_out(), whole.featurizer.names_left_out());
  EXPECT_EQ(back.to_bytes(), whole.to_bytes());
  EXPECT_LE(whole.peak_bytes(), kLimit);
  EXPECT_LE(whole.to_bytes().size(), kLimit);
}

TEST(Model, NamesOfColumnsCountAsMemoryOfTheModel) {
  const TempDir dir;
  std::string header = "task,label", line = "t,1";
  for (int n = 0; n < 3000; ++n) {
    header += ",column" + std::to_string(n);
    line += ",1";
  }
  Model model = Model::make(parse_spec("perceptron"), {.memory = ByteSize{100'000}, .keep_labels = {0}}, {}, Labels{});
  ExampleReader examples(dir.write("wide.csv", header + "\n" + line + "\n"), {}, model.featurizer, model.labels);
  EXPECT_THROW(model.begin_file(), MemoryError);
  EXPECT_EQ(Model::from_bytes(model.to_bytes()).to_bytes(), model.to_bytes()) << "they are not half there";
  Model large = Model::make(parse_spec("perceptron"), {.memory = ByteSize{1'000'000}, .keep_labels = {0}}, {}, Labels{});
  ExampleReader again(dir.at("wide.csv"), {}, large.featurizer, large.labels);
  large.begin_file();
  EXPECT_GT(large.bytes(), 3000u * 24);
  EXPECT_EQ(Model::from_bytes(large.to_bytes()).bytes(), large.bytes());
}

TEST(Model, IsSavedAndLoadedWithoutACopyOfTheWhole) {
  const TempDir dir;
  for (const std::string spec : {"perceptron", "cohort(scale=none, store=exact)", "amtl", "cmtl"}) {
    Model model = Model::make(parse_spec(spec), {}, {}, Labels{});
    Rng rng = make_rng(5, 0);
    for (int n = 0; n < 4000; ++n) {
      std::vector<Index> index;
      for (Index f = 0; f < 60; ++f) index.push_back(f * 1000 + static_cast<Index>(below(1000, rng)));
      const std::vector<double> value(index.size(), 0.1);
      feed_one(model.session, {model.session.task("t" + std::to_string(n % 5)), {index, value}}, n % 3 ? 1 : -1);
    }
    ASSERT_GT(model.bytes(), 1'000'000u) << spec;
    reset_largest_allocation();
    model.save(dir.at("model"));
    EXPECT_LT(largest_allocation(), model.bytes() / 4) << spec << ": while it is saved";
    const Model back = Model::load(dir.at("model"));
    EXPECT_EQ(back.to_bytes(), model.to_bytes()) << spec;
  }
}

TEST(Model, SavingAndLoadingTakeLittleBesidesTheModel) {
  const TempDir dir;
  struct Kind {
    const char* learner;
    std::uint32_t bits, tasks, features, of_each, examples;
  };
  constexpr double kMost = 1.3;  // times the model, the model among it
  for (const Kind& k :
       {Kind{"cohort(represent=none)", 18, 20'000, 1'000'000, 8, 20'000}, Kind{"perceptron", 24, 4, 4'000'000, 60, 20'000},
        Kind{"amlc", 24, 4, 4'000'000, 60, 8'000}, Kind{"kernel-perceptron", 18, 4, 4'000'000, 60, 4'000},
        Kind{"budget-projectron(budget=1200, eta=0)", 18, 10, 100'000, 30, 1'500},
        Kind{"budget-projectron-shared(budget=1000, eta=0)", 18, 10, 100'000, 30, 1'200},
        Kind{"shampo-second-order", 18, 4, 700, 40, 200}, Kind{"perceptron", 18, 100'000, 100'000, 2, 100'000},
        Kind{"shampo", 18, 100'000, 100'000, 2, 100'000}, Kind{"cmtl", 18, 100'000, 100'000, 2, 100'000},
        Kind{"shampo-second-order(diagonal=true)", 18, 100'000, 100'000, 2, 100'000}}) {
    Model model = Model::make(parse_spec(k.learner), {}, {.bits = k.bits}, Labels{});
    Rng rng = make_rng(6, 0);
    for (std::uint32_t n = 0; n < k.examples; ++n) {
      std::vector<Index> index;
      const std::uint32_t part = k.features / k.of_each;
      for (Index f = 0; f < k.of_each; ++f) index.push_back(1 + f * part + static_cast<Index>(below(part, rng)));
      const std::vector<double> value(index.size(), 0.1);
      feed_one(model.session, {model.session.task("t" + std::to_string(n % k.tasks)), {index, value}}, n % 3 ? 1 : -1);
    }
    const double whole = static_cast<double>(model.bytes());
    ASSERT_GT(whole, 3e6) << k.learner;
    const std::size_t others = live_bytes() - model.bytes();
    reset_peak_bytes();
    model.save(dir.at("model"));
    EXPECT_LT(static_cast<double>(peak_bytes() - others), kMost * whole) << k.learner << ": while it is saved";
    const std::size_t before = live_bytes();
    reset_peak_bytes();
    const Model back = Model::load(dir.at("model"));
    EXPECT_LT(static_cast<double>(peak_bytes() - before), kMost * whole) << k.learner << ": while it is loaded";
  }
}

TEST(Model, AFileThatIsNoRegularFileOrWhoseHeaderIsNestedIsRefused) {
  const TempDir dir;
  EXPECT_THROW(Model::load("/dev/zero"), FileError);
  EXPECT_THROW(Model::load("/dev/full"), FileError);
  EXPECT_THROW(Model::from_bytes(assembled(std::string(1'000'000, '['), "")), DataError);
  std::string many = "{\"a\":[{}";  // hours, in quadratic time
  while (many.size() < 4'000'000) many += ",{}";
  EXPECT_THROW(Model::from_bytes(assembled(many + "]}", "")), DataError);
}

TEST(Model, AnErrorNamesTheFile) {
  const TempDir dir;
  EXPECT_THROW(Model::load(dir.at("missing")), FileError);
  try {
    Model::load(dir.write("bad", "id,task,label\n1,2,3\n"));
    FAIL() << "loaded";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(dir.at("bad")), HasSubstr("model file")));
  }
}

TEST(Model, MissingRenamedAndExtraTensorsAreRefused) {
  const TempDir dir;
  const Tensors whole = from_bytes(trained(parse_spec("amtl"), dir).to_bytes());
  EXPECT_NO_THROW(Model::from_bytes(to_bytes(whole)));
  EXPECT_GT(whole.tensors.size(), 15u);
  for (const auto& [name, tensor] : whole.tensors) {
    Tensors changed = whole;
    changed.tensors.erase(name);
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << name << " missing";
    changed.tensors["learner.z." + name] = tensor;
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << name << " renamed";
    changed = whole;
    changed.tensors[name].dtype = tensor.dtype == "I8" ? "U8" : "I8";
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << name << " of another type";
    if (tensor.bytes.empty()) continue;
    changed = whole;
    const char last = tensor.dtype.back();  // F64, U64, U32, F32, U8, I8
    edit(changed.tensors[name].bytes)->resize(tensor.bytes.size() - (last == '4' ? 8 : last == '2' ? 4 : 1));
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << name << " one value shorter";
  }
  Tensors changed = whole;
  changed.tensors["learner.more"] = whole.tensors.begin()->second;
  EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError);
  for (const std::string key : {"learner", "positive", "negative", "learning", "features", "classes"}) {
    changed = whole;
    changed.metadata.erase(key);
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << key;
  }
}

TEST(Model, ASpecThatSaysNothingIsADataError) {
  const TempDir dir;
  const Tensors whole = from_bytes(trained(parse_spec("perceptron"), dir).to_bytes());
  for (const std::string spec : {"", "perceptrom", "perceptron(", "perceptron(query=margin(b=nan))", "cmtl(graph=edges)"}) {
    Tensors changed = whole;
    changed.metadata["learner"] = spec;
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << spec;
  }
}

TEST(Model, KeepsTheSettingsThatItWasMadeWithAndRefusesOthersInAFile) {
  LearningOptions learning{.labels = {"500", "20/day"}, .audit = 0.1, .rounds = Rounds::kEach, .seed = 7};
  Model model = Model::make(parse_spec("cohort"), learning, {.bits = 20, .interactions = {"a*b"}}, Labels{});
  const Model back = Model::from_bytes(model.to_bytes());
  EXPECT_EQ(back.learning.labels, learning.labels);
  EXPECT_EQ(back.learning.rounds, Rounds::kEach);
  EXPECT_EQ(back.learning.seed, 7u);
  EXPECT_EQ(back.learning.audit_floor, LearningOptions::kAuditFloor) << "the default, which may change";
  EXPECT_EQ(back.featurizer.settings(), model.featurizer.settings());
  model.set_limits({.total = 600, .per_task = 9});
  EXPECT_EQ(model.learning.labels, TextList{"600"});
  EXPECT_EQ(model.learning.labels_per_task, 9u);
  const Tensors whole = from_bytes(model.to_bytes());
  for (const auto& [key, value] : {std::pair{"learning", "x"},
                                   {"learning", "[]"},
                                   {"learning", R"({"seed":7})"},
                                   {"learning", R"({"seed":"x"})"},
                                   {"learning", R"({"sed":"7"})"},
                                   {"learning", R"({"memory":"0"})"},
                                   {"learning", R"({"rounds":"all-tasks"})"},
                                   {"features", R"({"bits":"32"})"},
                                   {"features", R"({"ngrams":"0"})"},
                                   {"features", R"({"interactions":["a"]})"},
                                   {"classes", "one-vs-two"}}) {
    Tensors changed = whole;
    changed.metadata[key] = value;
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << key << " " << value;
  }
  std::string many = "{";  // which must not take the square of their number
  for (int n = 0; n < 80'000; ++n) many += (n > 0 ? ",\"" : "\"") + std::to_string(n) + "\":0";
  for (const std::string& value : {many + "}", std::string(std::size_t{1} << 21, '[')}) {
    Tensors changed = whole;
    changed.metadata["learning"] = value;
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError);
  }
}

TEST(Model, WritesItsOptionsAsTheyAreNotAsTheyWereGiven) {
  const Model model = Model::make(parse_spec("cohort"), {.labels = {"20/day", "0500"}}, {}, Labels());
  EXPECT_EQ(model.learning.labels, (TextList{"500", "20/day"}));
  Model paced =
      Model::make(parse_spec("cohort"), {.labels = {"500"}, .pace = PaceRule::kEven, .length = 1000}, {}, Labels());
  paced.set_limits({.total = 600});
  EXPECT_EQ(paced.learning.length, 1000U);
  paced.set_limits({});
  EXPECT_FALSE(paced.session.pace().even());
  EXPECT_FALSE(paced.learning.pace || paced.learning.length) << "a pace needs a total";
}

TEST(Model, ThatLearnsAgainWithALearnerThatDoesNotSelectBuysOneLabelInARound) {
  Model model = Model::make(parse_spec("shampo"), {.labels_per_round = 2}, {}, Labels());
  const Vector x = dense({1, 2});
  model.learn({model.task("ann"), x}, kYes);
  model.relearn(parse_spec("cohort"));
  Model back = Model::from_bytes(model.to_bytes());
  EXPECT_EQ(back.session.labels_per_round(), 1U);
  RoundBuilder(back).add({back.task("ann"), x}, kNo);
  EXPECT_EQ(back.session.total().examples, 2U);
}

/// One of: bits flipped, cut, a part replaced by another part, a part zeroed or set, a part doubled or removed.
std::string corrupted(const std::string& file, std::size_t from, Rng& rng) {
  std::string out = file;
  const std::size_t n = file.size() - from;
  const auto place = [&] { return from + static_cast<std::size_t>(below(n, rng)); };
  const auto length = [&](std::size_t at) {
    return 1 + static_cast<std::size_t>(below(std::min<std::size_t>(file.size() - at, 1 + (n >> below(8, rng))), rng));
  };
  const std::size_t at = place(), other = place();
  switch (below(7, rng)) {
    case 0:
      for (std::uint64_t flips = 1 + below(4, rng); flips > 0; --flips) {
        char& c = out[place()];
        c = static_cast<char>(c ^ (1 << below(8, rng)));
      }
      break;
    case 1:
      out.resize(at);
      break;
    case 2: {
      const std::size_t size = std::min(length(at), length(other));
      out.replace(at, size, file, other, size);
      break;
    }
    case 3:
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at), length(at), '\0');
      break;
    case 4:
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(length(at), 8), '\xFF');
      break;
    case 5:
      out.insert(at, file, other, length(other));
      break;
    default:
      out.erase(at, length(at));
  }
  return out;
}

/// Yes or no, classes, and classes of each user.
std::vector<Reduction> reductions() {
  const std::vector<std::string> classes{"a", "b", "c"};
  return {{},
          {Reduction::Kind::kOneVsRest, classes},
          {Reduction::Kind::kOneVsOne, classes},
          {Reduction::Kind::kOneVsRest, classes, true}};
}

TEST(Model, LearnsFromALabelThatComesAtOnceAsFromOneThatComesLater) {
  for (const Reduction& reduction : reductions()) {
    const auto make = [&] {
      return Model::make(parse_spec("cohort(represent=none)"), {.labels = {"80"}}, {}, Labels(), reduction);
    };
    Model at_once = make(), later = make();
    Rng rng = make_rng(17, 0);
    std::size_t asked = 0, right = 0;
    Reduction::Work one, other;
    for (int n = 0; n < 400; ++n) {
      std::vector<double> x(reduction.size());
      for (double& v : x) v = uniform(rng);
      const std::size_t truth = static_cast<std::size_t>(std::ranges::max_element(x) - x.begin());
      const Vector values = dense(std::move(x));
      const std::string user = n % 2 ? "ann" : "bob";
      const Instance instance{at_once.task(user), values};
      ASSERT_EQ(later.task(user), instance.first);
      const auto said = at_once.predict(instance.first, values, one);
      ASSERT_EQ(later.predict(instance.first, values, other).margin, said.margin) << n;
      ASSERT_EQ(one.margins, other.margins);
      right += n >= 200 && said.label == truth;
      const Model::Decided round = at_once.learn(instance, reduction.label_of(truth));
      ASSERT_EQ(round.examples.size(), reduction.tasks());
      ASSERT_EQ(round.outcomes.size(), reduction.tasks());
      for (const Outcome& outcome : round.outcomes) asked += outcome.answer.has_value();
      std::vector<std::uint64_t> tickets;
      for (const Outcome& outcome : later.decide({&instance, 1}).outcomes)
        if (outcome.ticket) tickets.push_back(*outcome.ticket);
      for (const std::uint64_t ticket : tickets) {
        EXPECT_TRUE(later.answer(ticket, reduction.label_of(truth), "ann"));
        EXPECT_FALSE(later.answer(ticket, reduction.label_of(truth))) << "a second answer changes nothing";
      }
    }
    EXPECT_EQ(asked, 80U);
    EXPECT_GT(right, 120U);
    EXPECT_EQ(later.session.total().labels, 80U);
  }
}

class ModelFile : public EveryLearner {
 protected:
  /// For each learner, over all its settings: 1,200, or QUORATE_CORRUPTIONS.
  static int times() {
    const char* of_learner = std::getenv("QUORATE_CORRUPTIONS");
    int settings = 0;
    for (const Setting& s : all_settings()) settings += s.spec.word == GetParam().spec.word;
    return (of_learner ? std::atoi(of_learner) : 1'200) / settings + 1;
  }
};

TEST_P(ModelFile, OneOfManyCorruptionsNeverLoads) {
  const std::string file = trained(spec(), dir_).to_bytes();
  Rng rng = make_rng(62, 0);
  for (int n = 0, end = times(); n < end; ++n) {
    const std::string bad = corrupted(file, 0, rng);
    if (bad == file) continue;
    EXPECT_THROW(Model::from_bytes(bad), DataError) << "corruption " << n;
  }
}

TEST_P(ModelFile, WithItsChecksumMadeRightLoadsOrIsRefusedInLittleMemory) {
  const std::string file = trained(spec(), dir_).to_bytes();
  const std::size_t header_end = 8 + header_length(file);
  const Vector x = dense({1, 1, 1, 1});
  Rng rng = make_rng(63, 0);
  int loaded = 0, refused = 0;
  reset_largest_allocation();
  // Until some came through, too, which are few in a small file.
  for (int n = 0, end = times(); n < end || (loaded == 0 && n < 50 * end); ++n) {
    // Half of them in the data alone, so that many come through to the learners.
    const std::string bad = with_checksum(corrupted(file, n % 2 == 0 ? 0 : header_end, rng));
    try {
      Model model = Model::from_bytes(bad);
      ++loaded;
      for (Task task = 0; task < 8; ++task) model.session.learner().score({task, x});
      const Task task = model.session.task("t0");
      feed_one(model.session, {task, x}, 1);
      model.to_bytes();
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_GT(refused, 0);
  EXPECT_LT(largest_allocation(), 64u << 20);
}

TEST_P(ModelFile, AnyTensorsValueMayBeAnythingAndStillNothingBreaks) {
  const Tensors whole = from_bytes(trained(spec(), dir_).to_bytes());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : whole.tensors)
    if (!tensor.bytes.empty()) names.push_back(name);
  const Vector x = dense({1, 1, 1, 1});
  Rng rng = make_rng(64, 0);
  reset_largest_allocation();
  for (int n = 0, end = times(); n < end; ++n) {
    Tensors changed = whole;
    for (std::uint64_t times = 1 + below(3, rng); times > 0; --times) {
      edit edited(changed.tensors[names[below(names.size(), rng)]].bytes);
      auto& bytes = *edited;
      const std::size_t at = below(bytes.size(), rng) & ~std::size_t{7};
      const std::uint64_t values[] = {0,
                                      1,
                                      2,
                                      0xFFFFFFFFFFFFFFFFu,
                                      0xFFFFFFFDFFFFFFFDu,
                                      0x7FF0000000000000u,
                                      0x7F8000007F800000u,
                                      0x7FFFFFFF7FFFFFFFu,
                                      0x00100000,
                                      rng()};
      const std::uint64_t value = values[below(10, rng)];
      std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(8, bytes.size() - at));
    }
    try {
      Model model = Model::from_bytes(to_bytes(changed));
      for (Task task = 0; task < 8; ++task) model.session.learner().score({task, x});
      const Task task = model.session.task("t0");
      feed_one(model.session, {task, x}, 1);
      model.to_bytes();
    } catch (const DataError&) {
    }
  }
  EXPECT_LT(largest_allocation(), 64u << 20);
}

INSTANTIATE_TEST_SUITE_P(All, ModelFile, testing::ValuesIn(all_settings()), setting_name);

}  // namespace
}  // namespace quorate::test
