#include "quorate/run/model.h"

#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate {

std::string Model::to_bytes() const {
  Tensors out;
  out.metadata["learner"] = to_text(session.spec());
  out.metadata["positive"] = labels.positive();
  out.metadata["negative"] = labels.negative();
  session.save(out);
  Writer{out}("input", featurizer);
  return quorate::to_bytes(out);
}

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
    reader.finish();
    return out;
  } catch (const UsageError& e) {
    throw DataError(std::string("model file: its learner: ") + e.what());
  }
}

void Model::save(const std::string& path) const {
  OutputFile file(path);
  file.write(to_bytes());
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
