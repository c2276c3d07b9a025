#include "quorate/model/model.h"

#include "quorate/base/portable_math.h"
#include "quorate/base/utf8.h"
#include "quorate/learner.h"
#include "quorate/params/json.h"
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

/// All that a session is made with but for tasks named beforehand.
SessionOptions session_options(const LearningOptions& learning, const FeatureSettings& features,
                               const Reduction& reduction) {
  SessionOptions out = learning.session();
  out.spread_over *= reduction.tasks();
  out.exclusive = reduction.exclusive();
  out.tasks_per_name = reduction.by_task() ? reduction.tasks() : 1;
  out.memory_for_names = memory_for_names(features.bits, out.memory_limit);
  return out;
}

Reduction read_reduction(const std::string& word, bool users, Reader& reader) {
  const auto kind = value_named<Reduction::Kind>(word);
  if (!kind) throw DataError("model file: classes " + quoted_value(word));
  if (*kind == Reduction::Kind::kNone) return {};
  NameTable names;
  reader("classes", names);
  std::vector<std::string> words;
  for (std::uint32_t c = 0; c < names.size(); ++c) {
    words.emplace_back(names[c]);
    if (find_not_utf8(words.back()) != std::string::npos) throw DataError("model file: a class's name is not UTF-8");
  }
  if (words.size() > ClassNames::kMost) throw DataError("model file: too many classes");
  return {*kind, std::move(words), users};
}

/// Throws DataError unless a session of a file has the tasks of the classes.
void check_tasks(const Session& session, const Reduction& reduction) {
  const NameTable& tasks = session.tasks();
  for (Task task = 0; task < reduction.tasks() && !reduction.by_task(); ++task)
    if (task >= tasks.size() || tasks[task] != reduction.task_name(task))
      throw DataError("model file: its tasks are not those of its classes");
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
  out.metadata["learning"] = params_text(model.learning);
  out.metadata["features"] = params_text(model.featurizer.settings());
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
    const Spec learner = parse_spec(text("learner"));
    const auto learning = params_of_text<LearningOptions>(text("learning"), "model file: learning");
    const auto features = params_of_text<FeatureSettings>(text("features"), "model file: features");
    Reduction reduction = read_reduction(text("classes"), in.metadata.contains("users"), reader);
    Model out{Session::load(learner, session_options(learning, features, reduction), reader),
              make_featurizer(features, learning.memory_limit()), Labels{}, std::move(reduction), learning};
    check_tasks(out.session, out.reduction);
    reader("input", out.featurizer);
    out.featurizer.check();
    out.begin_file();
    out.labels.restore(text("positive"), text("negative"), in.metadata.contains("yes_no"));
    resolve_rounds(learning.rounds, out.reduction.has_classes(), out.session.capabilities());
    if (out.reduction.has_classes()) out.labels = Labels::of_classes(ClassNames(out.reduction.classes()), false);
    count_classes(out);
    reader.finish();
    return out;
  } catch (const UsageError& e) {
    throw DataError(std::string("model file: ") + e.what());
  } catch (const MemoryError& e) {
    throw DataError(std::string("model file: larger than its own memory limit: ") + e.what());
  }
}

}  // namespace

Model Model::make(const Spec& learner, const LearningOptions& learning, const FeatureSettings& features, Labels labels,
                  Reduction reduction, const NameTable* tasks) {
  if (reduction.users()) check_can_group(learner);
  SessionOptions options = session_options(learning, features, reduction);
  const NameTable own = reduction.by_task() ? NameTable() : reduction.task_names();
  options.tasks = reduction.by_task() ? tasks : &own;
  Model out{Session(learner, options), make_featurizer(features, options.memory_limit), std::move(labels),
            std::move(reduction)};
  if (const std::size_t all = out.reduction.tasks(); !out.reduction.by_task() && out.session.tasks().size() > all)
    throw UsageError("learner: a file of it names the task " +
                     quoted_value(out.session.tasks()[static_cast<std::uint32_t>(all)]) +
                     "; expected tasks of the classes, as " + quoted_value(out.session.tasks()[0]));
  out.session.set_kinds(out.featurizer.kinds());
  count_classes(out);
  out.learning = learning;
  out.learning.set_limits(options.limits);  // as they are written
  if (options.audit > 0) out.learning.audit_floor = options.audit_floor;
  return out;
}

std::optional<Outcome> Model::answer(std::uint64_t ticket, Label label, std::string_view annotator, std::string_view id) {
  const PendingQuestions::Item* item = session.pending().find(ticket);
  const Reply reply = item == nullptr ? Reply(kNeither) : reduction.reply(label, item->example());
  return session.answer(ticket, reply, annotator, id);
}

void Model::correct(std::uint64_t id, Label label) {
  const auto place = session.labels().find(id);
  UnpackedInstance memory;
  session.correct(id, place ? reduction.reply(label, session.labels().example(*place, memory)) : Reply(kNeither));
}

void Model::set_limits(const LabelLimits& limits) {
  session.set_limits(limits);
  learning.set_limits(limits);
  if (!session.pace().even()) learning.pace.reset(), learning.length.reset();
}

void Model::relearn(const Spec& spec) {
  session.relearn(spec);
  if (!session.capabilities().selects) learning.labels_per_round = 1;
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
