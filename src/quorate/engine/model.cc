#include "quorate/engine/model.h"

#include "quorate/base/portable_math.h"
#include "quorate/base/utf8.h"
#include "quorate/engine/rounds.h"
#include "quorate/learner.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate {
namespace {

/// The part of a memory limit that is set aside for names of features: where they are kept, a quarter.
std::size_t memory_for_names(std::uint32_t bits, std::size_t limit) {
  return bits > 0 || limit == Memory::kNoLimit ? 0 : limit / 4;
}

Featurizer make_featurizer(const FeatureSettings& settings, std::size_t limit) {
  const std::size_t names = memory_for_names(settings.bits, limit);
  return Featurizer(settings, names > 0 ? names : Memory::kNoLimit);
}

/// The classes of a model file.
Reduction read_reduction(Reduction::Kind kind, bool users, Reader& reader, const Session& session) {
  NameTable names;
  reader("classes", names);
  std::vector<std::string> words;
  for (std::uint32_t c = 0; c < names.size(); ++c) {
    words.emplace_back(names[c]);
    if (find_not_utf8(words.back()) != std::string::npos) throw DataError("model file: a class's name is not UTF-8");
  }
  if (words.size() > ClassNames::kMost) throw DataError("model file: too many classes");
  Reduction out(kind, std::move(words), users);
  if (session.tasks_per_name() != (users ? out.tasks() : 1))
    throw DataError("model file: its tasks are not those of its users");
  const NameTable& tasks = session.tasks();
  for (Task task = 0; task < out.tasks() && !users; ++task)
    if (task >= tasks.size() || tasks[task] != out.task_name(task))
      throw DataError("model file: its tasks are not those of its classes");
  return out;
}

/// Counts as memory of the model the names of classes, here and in the labels, and the decisions of all of their tasks.
/// Throws MemoryError.
void count_classes(Model& model) {
  if (!model.reduction.has_classes()) return;
  model.session.memory().take(model.reduction.bytes());
  if (model.session.memory().limited()) model.session.memory().take(model.reduction.tasks() * Session::kBytesOfDecision);
}

/// To be used while the model stays as it is.
Tensors tensors_of(const Model& model) {
  Tensors out;
  const Writer writer(out, ReadColumns::kWhenWritten);
  out.metadata["learner"] = to_text(model.session.spec());
  out.metadata["positive"] = model.labels.positive();
  out.metadata["negative"] = model.labels.negative();
  if (model.labels.yes_no()) out.metadata["yes_no"] = "true";
  if (model.rounds) out.metadata["rounds"] = word_of(*model.rounds);
  model.session.save(writer);
  out.metadata["classes"] = word_of(model.reduction.kind());
  if (model.reduction.users()) out.metadata["users"] = "yes";
  if (model.reduction.has_classes()) {
    NameTable names;
    for (const std::string& name : model.reduction.classes()) names.intern(name);
    Writer{out}("classes", names);
  }
  writer("input", model.featurizer);
  return out;
}

Model read_model(const Column<std::byte>& file) {
  const Tensors in = read_tensors(file);
  const auto text = [&](const std::string& key) {
    const auto found = in.metadata.find(key);
    if (found == in.metadata.end()) throw DataError("model file: no '" + key + "' in its header");
    return found->second;
  };
  Reader reader(in);
  try {
    std::uint32_t bits = 0;
    std::uint64_t memory_limit = 0;
    reader("input.settings.bits", bits);
    reader("memory_limit", memory_limit);
    const Spec learner = parse_spec(text("learner"));
    Model out{Session::load(learner, reader, memory_for_names(bits, memory_limit)),
              make_featurizer({.bits = bits}, memory_limit), Labels{}};
    reader("input", out.featurizer);
    out.featurizer.check();
    out.begin_file();
    out.labels.restore(text("positive"), text("negative"), in.metadata.contains("yes_no"));
    if (const auto rounds = in.metadata.find("rounds"); rounds != in.metadata.end()) {
      out.rounds = value_named<Rounds>(rounds->second);
      if (!out.rounds) throw DataError("model file: rounds " + quoted_value(rounds->second));
      resolve_rounds(out.rounds, !text("classes").empty(), out.session.capabilities());
    }
    const auto kind = value_named<Reduction::Kind>(text("classes"));
    if (!kind) throw DataError("model file: classes " + quoted_value(text("classes")));
    if (*kind != Reduction::Kind::kNone) {
      const bool users = in.metadata.contains("users");
      if (users) check_can_group(out.session.spec());
      out.reduction = read_reduction(*kind, users, reader, out.session);
      out.labels = Labels::of_classes(ClassNames(out.reduction.classes()), false);
      count_classes(out);
    } else if (out.session.tasks_per_name() > 1) {
      throw DataError("model file: users without classes");
    }
    reader.finish();
    return out;
  } catch (const UsageError& e) {
    throw DataError(std::string("model file: learner: ") + e.what());
  } catch (const MemoryError& e) {
    throw DataError(std::string("model file: larger than its own memory limit: ") + e.what());
  }
}

}  // namespace

Model Model::make(const Spec& learner, SessionOptions options, const FeatureSettings& features, Labels labels,
                  Reduction reduction) {
  NameTable tasks;
  options.spread_over *= reduction.tasks();
  options.exclusive = reduction.exclusive();
  if (reduction.by_task()) {
    if (reduction.users()) check_can_group(learner);
    options.tasks_per_name = reduction.tasks();
  } else {
    tasks = reduction.task_names();
    options.tasks = &tasks;
  }
  options.memory_for_names = memory_for_names(features.bits, options.memory_limit);
  Model out{Session(learner, options), make_featurizer(features, options.memory_limit), std::move(labels),
            std::move(reduction)};
  if (const std::size_t all = out.reduction.tasks(); !out.reduction.by_task() && out.session.tasks().size() > all)
    throw UsageError("learner: a file of it names the task " +
                     quoted_value(out.session.tasks()[static_cast<std::uint32_t>(all)]) +
                     "; expected tasks of the classes, as " + quoted_value(out.session.tasks()[0]));
  out.session.set_kinds(out.featurizer.kinds());
  count_classes(out);
  return out;
}

std::optional<double> Model::threshold() const {
  if (reduction.has_classes() || !session.capabilities().calibrated) return std::nullopt;
  return logistic(session.learner().log_odds(0));
}

std::optional<std::string> Model::question(const Example& e) const {
  if (!reduction.has_classes()) return std::nullopt;
  const std::string name(session.name_of(e.task));
  return (reduction.users() && !name.empty() ? name + ": " : "") + reduction.question(reduction.task_of(e));
}

std::string Model::answer_word(Answer y) const {
  if (y == kNeither) return "neither";
  return !reduction.has_classes() ? labels.word(y) : y == kYes ? "yes" : "no";
}

void Model::begin_file() {
  if (featurizer.settings().bits != 0 && session.memory().limited()) {
    try {
      session.memory().take(featurizer.bytes() - names_counted_);
    } catch (const MemoryError&) {  // they are those of the first file, just begun
      featurizer.forget_columns();
      throw;
    }
    names_counted_ = featurizer.bytes();
  }
  session.set_kinds(featurizer.kinds());
}

std::size_t Model::bytes() const { return session.model_bytes() + featurizer.bytes() - names_counted_; }

std::size_t Model::peak_bytes() const { return session.peak_bytes() + featurizer.peak_bytes() - names_counted_; }

std::string Model::to_bytes() const { return quorate::to_bytes(tensors_of(*this)); }

Model Model::from_bytes(std::string_view bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  return read_model({all.size(), [all](std::size_t begin, std::span<std::byte> out) {
                       std::copy_n(all.data() + begin, out.size(), out.data());
                     }});
}

void Model::save(const std::string& path) const {
  OutputFile file(path);
  save(file);
  file.commit();
}

void Model::save(OutputFile& file) const { write_tensors(tensors_of(*this), file); }

Model Model::load(const std::string& path) {
  try {
    return read_model(bytes_of_file(path));
  } catch (const DataError& e) {
    throw DataError(path + ": " + e.what());
  }
}

}  // namespace quorate
