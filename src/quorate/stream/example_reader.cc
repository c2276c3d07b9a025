#include "quorate/stream/example_reader.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "quorate/base/error.h"

namespace quorate {

namespace {

/// All that instances of a file depend on. Throws FileError.
std::string cache_key(const std::string& path, const ReadOptions& o, const Featurizer& featurizer) {
  namespace fs = std::filesystem;
  std::error_code wrong;
  const std::string file = fs::canonical(path, wrong).string();
  struct stat info {};
  if (wrong || stat(path.c_str(), &info) != 0) throw FileError(path + ": cannot be opened: " + std::strerror(errno));
  std::ostringstream out;
  const auto list = [&](const auto& words) {
    for (const auto& word : words) out << std::quoted(std::string(word)) << ' ';
    out << "; ";
  };
  const auto options = [&]<Described P>(const P& params) {
    const auto one = [&](const auto& field) {
      const auto& value = params.*(field.member);
      if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, TextList>)
        list(value);
      else if (field.name != "cache")
        list(std::array{write_value(value).word});
    };
    std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
  };
  list(std::array{file});
  options(o);
  options(featurizer.settings());
  const Schema& schema = featurizer.schema();
  for (std::size_t i = 0; i < schema.size(); ++i) list(std::array{schema.name(i), word_of(schema.kind(i))});
  for (std::uint32_t i = 0; i < schema.missing.size(); ++i) list(std::array{schema.missing[i]});
  for (std::uint32_t c = 0; c < featurizer.column_names().size(); ++c) list(std::array{featurizer.column_names()[c]});
  out << schema.features.text() << ' ';
  const auto time = [&](const timespec& t) { out << t.tv_sec << '.' << t.tv_nsec << ' '; };
  time(info.st_mtim);
  time(info.st_ctim);  // changes with the content even where the time of modification is set back
  out << info.st_size << " bytes of file " << info.st_dev << ' ' << info.st_ino << ", skip " << o.skip_bad_lines << " kinds "
      << featurizer.kinds().categories;
  return out.str();
}

}  // namespace

ReadOptions of_model(ReadOptions options, const Featurizer& featurizer) {
  options.schema = &featurizer.schema();
  return options;
}

ExampleReader::ExampleReader(const std::string& path, const ReadOptions& options, Featurizer& featurizer, Labels& labels,
                             bool ahead)
    : reader_(open_reader(path, of_model(options, featurizer))),
      featurizer_(featurizer),
      labels_(labels),
      skip_(options.skip_bad_lines),
      stop_(options.stop) {
  labels_.set_as_written(options.labels_as_written);
  std::error_code ignored;
  const bool file = path != "-" && std::filesystem::is_regular_file(reader_->path(), ignored);
  ahead_ = ahead && file && featurizer.settings().bits > 0;
  featurizer_.begin(*reader_);
  if (options.cache.empty()) return;
  if (!file) throw UsageError("cache: " + path + " can be read once only; expected a file");
  if (featurizer_.settings().bits == 0) throw UsageError("cache: names are kept (bits 0); expected hashed ones");
  cache_.emplace(options.cache, cache_key(reader_->path(), options, featurizer_));
  cached_ = cache_->made();
}

/// Parses until the block has `bytes` bytes (at least one example) or the file ends. `arrange`: instances are completed
/// here, not by the consumer.
void ExampleReader::parse(ExampleBlock& block, std::size_t bytes, bool arrange) {
  block.clear();
  try {
    do {
      block.last = !reader_->next(record_);
      if (block.last) break;
      Features x = arrange ? featurizer_(record_) : featurizer_.gather(record_);
      if (!arrange) x.norm = 0;
      block.add(record_, x, reader_at());
    } while (!block.last && block.bytes() < bytes);
  } catch (...) {
    block.error = std::current_exception();
    block.last = true;
  }
  block.end = reader_at();
  if (block.end.skipped > 0) block.first_skipped = reader_->first_skipped();
}

void ExampleReader::fill(ExampleBlock& block, std::size_t bytes, bool arrange) {
  try {
    if (cache_ && cache_->made()) return cache_->read(block);
    parse(block, bytes, arrange || cache_);
    if (cache_ && !block.error && !stop_.stop_requested()) cache_->write(block);  // an interrupted reader has not read all
  } catch (...) {
    block.clear();
    block.error = std::current_exception();
    block.last = true;
  }
}

void ExampleReader::read_ahead(const std::stop_token& end) {
  for (bool last = false; !last;) {
    bool behind = false;  // the consumer: then this thread does more of the work
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, end, [&] { return filled_ - taken_ < kBlocks; })) return;
      behind = filled_ - taken_ > 1;
    }
    ExampleBlock& block = blocks_[filled_ % kBlocks];  // not shared until it is filled
    fill(block, kBlockBytes, behind);
    last = block.last;
    const std::lock_guard lock(mutex_);
    ++filled_;
    changed_.notify_all();
  }
}

const ExampleBlock* ExampleReader::next_block() {
  if (!ahead_) {
    fill(blocks_[0], 1, true);
    return blocks_;
  }
  if (block_ == nullptr) {  // for a file of one block a thread costs more than it saves
    fill(blocks_[0], kBlockBytes, true);
    filled_ = 1;
    if (!blocks_[0].last) thread_ = std::jthread([this](const std::stop_token& end) { read_ahead(end); });
    return blocks_;
  }
  std::unique_lock lock(mutex_);
  ++taken_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return filled_ > taken_; });
  return &blocks_[taken_ % kBlocks];
}

bool ExampleReader::next(Item& item) {
  for (;;) {
    if (block_ == nullptr || (row_ == block_->rows.size() && !block_->last)) {
      block_ = next_block();
      row_ = 0;
      continue;
    }
    if (row_ == block_->rows.size()) {
      at_ = block_->end;
      if (first_skipped_.empty()) first_skipped_ = block_->first_skipped;
      if (block_->error) std::rethrow_exception(block_->error);
      return false;
    }
    const std::size_t row = row_++;
    at_ = block_->rows[row].at;
    if (at_.skipped > 0 && first_skipped_.empty()) first_skipped_ = block_->first_skipped;
    item.id = block_->id(row);
    item.task = block_->task(row);
    if (item.task.empty()) item.task = kOnlyTask;
    item.time = std::isnan(block_->rows[row].time) ? std::nullopt : std::optional(block_->rows[row].time);
    item.weight = block_->rows[row].weight;
    item.unknown = block_->rows[row].unknown != 0;
    item.x = block_->x(row);
    if (item.x.norm == 0) item.x = featurizer_.arrange(item.x, scratch_);
    try {
      item.label = labels_(block_->label(row));
      return true;
    } catch (const DataError& e) {
      const std::string what = path() + ":" + std::to_string(at_.line) + ": " + e.what();
      if (!skip_) throw LineError(what);
      ++rejected_;
      if (first_skipped_.empty()) first_skipped_ = what;
    }
  }
}

std::string ExampleReader::left_out() const { return reader_->report(labels_.taken()); }

std::string ExampleReader::unmet() const {
  if (cached_) return "";
  std::string out = reader_->unmet();
  if (const std::string products = featurizer_.unmet(); !products.empty()) out += (out.empty() ? "" : "; ") + products;
  return out;
}

Features ExampleReader::coming_features() const {
  if (block_ == nullptr || row_ >= block_->rows.size()) return {};
  return block_->x(row_);
}

std::string_view ExampleReader::coming_task(std::size_t ahead) const {
  if (block_ == nullptr || row_ + ahead > block_->rows.size()) return {};
  return block_->task(row_ + ahead - 1);
}

}  // namespace quorate
