#include "quorate/engine/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/rng.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"
#include "support/allocations.h"
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
  Model model{Session(spec, {.seed = 3, .limits = {.total = 50}}), Featurizer({.bits = 0, .bigrams = true}), Labels("yes")};
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
    auto& bytes = changed.tensors[name].bytes;
    const char last = tensor.dtype.back();  // F64, U64, U32, F32, U8, I8
    bytes.resize(bytes.size() - (last == '4' ? 8 : last == '2' ? 4 : 1));
    EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError) << name << " one value shorter";
  }
  Tensors changed = whole;
  changed.tensors["learner.more"] = whole.tensors.begin()->second;
  EXPECT_THROW(Model::from_bytes(to_bytes(changed)), DataError);
  for (const std::string key : {"learner", "positive", "negative"}) {
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

class ModelFile : public EveryLearner {
 protected:
  /// 10,000 for each learner, over all its settings.
  static int times() {
    int settings = 0;
    for (const Setting& s : all_settings()) settings += s.spec.word == GetParam().spec.word;
    return 10'000 / settings + 1;
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
  for (int n = 0, end = times(); n < end; ++n) {
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
      auto& bytes = changed.tensors[names[below(names.size(), rng)]].bytes;
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
