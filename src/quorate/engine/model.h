// What a model file holds: a session, and how its data are read.
#pragma once
#include <optional>
#include <string>

#include "quorate/engine/classes.h"
#include "quorate/engine/session.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/labels.h"

namespace quorate {

struct Model {
  Session session;
  Featurizer featurizer;
  Labels labels;
  std::optional<Classes> classes = {};  ///< whose tasks are the session's; labels are theirs

  /// The bytes of its file (store/tensors.h). Equal models give equal bytes.
  std::string to_bytes() const;
  /// Throws DataError with the reason; `bytes` may be anything.
  static Model from_bytes(std::string_view bytes);

  void save(const std::string& path) const;    ///< whole or not at all; throws FileError
  static Model load(const std::string& path);  ///< throws FileError, DataError with the path
};

}  // namespace quorate
