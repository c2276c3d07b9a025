// A file as a stream of examples: reader, featuriser, labels and task names together.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "quorate/base/example.h"
#include "quorate/base/name_table.h"
#include "quorate/stream/example_block.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/labels.h"

namespace quorate {

/// The name of the task of examples that name none.
inline constexpr std::string_view kOnlyTask = "all";

/// The same for a file of a model: with the schema of its featurizer, which has to live as long as they are used.
ReadOptions of_model(ReadOptions options, const Featurizer& featurizer);

/// Examples of one file. Memory does not grow with the file. A long file is read ahead by a thread of its own, some
/// blocks of examples at most, where an instance depends on its record alone: names are hashed (bits > 0), and the file is
/// no pipe, whose examples must come as soon as they are there. Then it can also be taken from a cache (ReadOptions::cache),
/// which is written when the file is first read. The examples are the same. Thread-safety: one thread at a time.
class ExampleReader {
 public:
  /// `featurizer` and `labels` outlive this; the featurizer makes no other instances meanwhile. `ahead`: whether a thread
  /// may read ahead. Throws as open_reader and Featurizer::begin; UsageError: a cache of a pipe, or of names that are kept;
  /// FileError.
  ExampleReader(const std::string& path, const ReadOptions& options, Featurizer& featurizer, Labels& labels,
                bool ahead = true);

  struct Item {
    std::string_view id, task;
    Label label;                 ///< unknown if the file has none
    std::optional<double> time;  ///< seconds since 1970-01-01 UTC, if the file is asked for times and says
    double weight = 1;           ///< Example::weight
    bool unknown = false;        ///< Record::unknown(): nothing can be learned from it
    Features x;
  };
  /// The next example, valid until the next call; false at the end. Throws as RecordReader::next; after an error of the
  /// file's nothing more comes.
  bool next(Item& item);

  /// The task of the `ahead`-th example after the one that next() returned last; "" if it is not read yet, or has no task.
  std::string_view coming_task(std::size_t ahead) const;
  /// The features of the next example, perhaps in another order; none if they are not read yet.
  Features coming_features() const;

  const std::string& path() const { return reader_->path(); }
  std::uint64_t line_number() const { return at_.line; }               ///< where the last example ended, from 1
  std::uint64_t consumed() const { return at_.consumed; }              ///< bytes of the file read by then, packed
  std::uint64_t skipped() const { return at_.skipped + rejected_; }    ///< bad lines passed over by then
  const std::string& first_skipped() const { return first_skipped_; }  ///< what was wrong with the first of them
  /// What was left out or taken for something, at the end: RecordReader::left_out(), Labels::taken().
  std::string left_out() const;
  /// As RecordReader's and Featurizer's, at the end; "" of a file that was taken from a cache.
  std::string unmet() const;

 private:
  static constexpr std::size_t kBlocks = 4, kBlockBytes = std::size_t{1} << 18;

  using At = ExampleBlock::At;
  At reader_at() const { return {reader_->line_number(), reader_->consumed(), reader_->skipped()}; }
  void fill(ExampleBlock& block, std::size_t bytes, bool arrange);
  void parse(ExampleBlock& block, std::size_t bytes, bool arrange);
  void read_ahead(const std::stop_token& end);
  const ExampleBlock* next_block();

  std::unique_ptr<RecordReader> reader_;
  std::optional<BlockCache> cache_;
  Featurizer& featurizer_;
  Labels& labels_;
  bool ahead_, skip_, cached_ = false;
  std::stop_token stop_;
  Record record_;

  const ExampleBlock* block_ = nullptr;  // the current one
  Featurizer::Scratch scratch_;          // of the consumer
  std::size_t row_ = 0;                  // of the next one in it
  At at_;
  std::uint64_t rejected_ = 0;  // for their labels
  std::string first_skipped_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t filled_ = 0, taken_ = 0;  // blocks so far
  ExampleBlock blocks_[kBlocks];          // the n-th is blocks_[n % kBlocks]
  std::jthread thread_;                   // ends before what it uses
};

}  // namespace quorate
