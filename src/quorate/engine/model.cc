#include "quorate/engine/model.h"

#include "quorate/base/utf8.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate {
namespace {

/// The classes that a file's header and tensors say.
Classes read_classes(const std::string& name, Reader& reader, const NameTable& tasks) {
  NameTable names;
  reader("classes", names);
  std::vector<std::string> words;
  for (std::uint32_t c = 0; c < names.size(); ++c) {
    words.emplace_back(names[c]);
    if (find_not_utf8(words.back()) != std::string::npos) throw DataError("model file: a class's name is not UTF-8");
  }
  const auto reduction = reduction_named(name);
  if (words.size() > ClassNames::kMost || !reduction) throw DataError("model file: classes that cannot be");
  Classes out(*reduction, std::move(words));
  for (Task task = 0; task < out.tasks(); ++task)
    if (task >= tasks.size() || tasks[task] != out.task_name(task))
      throw DataError("model file: its tasks are not those of its classes");
  return out;
}

Tensors tensors_of(const Model& model) {
  Tensors out;
  out.metadata["learner"] = to_text(model.session.spec());
  out.metadata["positive"] = model.labels.positive();
  out.metadata["negative"] = model.labels.negative();
  model.session.save(out);
  out.metadata["classes"] = model.classes ? to_text(model.classes->reduction()) : "";
  if (model.classes) {
    NameTable names;
    for (const std::string& name : model.classes->names()) names.intern(name);
    Writer{out}("classes", names);
  }
  Writer{out}("input", model.featurizer);
  return out;
}

}  // namespace

std::string Model::to_bytes() const { return quorate::to_bytes(tensors_of(*this)); }

Model Model::from_bytes(std::string_view bytes) {
  const Tensors in = quorate::from_bytes(bytes);
  const auto text = [&](const std::string& key) {
    const auto found = in.metadata.find(key);
    if (found == in.metadata.end()) throw DataError("model file: no '" + key + "' in its header");
    return found->second;
  };
  Reader reader(in);
  try {
    Model out{Session::load(parse_spec(text("learner")), reader), Featurizer{}, Labels{}};
    reader("input", out.featurizer);
    out.featurizer.check();
    out.labels.restore(text("positive"), text("negative"));
    if (const std::string reduction = text("classes"); !reduction.empty()) {
      out.classes = read_classes(reduction, reader, out.session.tasks());
      out.labels = Labels::of_classes(ClassNames(out.classes->names()), false);
    }
    reader.finish();
    return out;
  } catch (const UsageError& e) {
    throw DataError(std::string("model file: its learner: ") + e.what());
  } catch (const MemoryError& e) {
    throw DataError(std::string("model file: larger than it says it may be: ") + e.what());
  }
}

void Model::save(const std::string& path) const {
  OutputFile file(path);
  const Tensors tensors = tensors_of(*this);
  std::string header;
  for (const std::string_view part : to_parts(tensors, header)) file.write(part);
  file.commit();
}

Model Model::load(const std::string& path) {
  const std::string bytes = read_file(path);
  try {
    return from_bytes(bytes);
  } catch (const DataError& e) {
    throw DataError(path + ": " + e.what());
  }
}

}  // namespace quorate
