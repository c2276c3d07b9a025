// A file as a stream of examples: reader, featuriser, labels and task names together.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quorate/base/example.h"
#include "quorate/base/names.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/labels.h"

namespace quorate {

/// The name of the task of examples that name none.
inline constexpr std::string_view kOnlyTask = "all";

/// Examples of one file. Memory does not grow with the file.
class Examples {
 public:
  /// `featurizer` and `labels` outlive this. Throws as open_reader and Featurizer::begin.
  Examples(const std::string& path, const ReadOptions& options, Featurizer& featurizer, Labels& labels)
      : reader_(open_reader(path, options)), featurizer_(featurizer), labels_(labels) {
    featurizer_.begin(*reader_);
  }

  struct Item {
    std::string_view id, task;
    int label = 0;  ///< as Labels; 0 if the file does not say
    Features x;
    std::optional<double> time = {};  ///< in seconds since 1970, if the file says
  };
  /// The next example, valid until the next call; false at the end. Throws as RecordReader::next.
  bool next(Item& item, bool learn_names = true) {
    while (reader_->next(record_)) {
      try {
        item.label = labels_(record_.label);
      } catch (const DataError& e) {
        reader_->reject(e.what());
        continue;
      }
      item.id = record_.id;
      item.task = record_.task.empty() ? kOnlyTask : record_.task;
      item.x = featurizer_(record_, learn_names);
      return true;
    }
    return false;
  }
  const RecordReader& reader() const { return *reader_; }

 private:
  std::unique_ptr<RecordReader> reader_;
  Featurizer& featurizer_;
  Labels& labels_;
  Record record_;
};

}  // namespace quorate
