#include "quorate/run/examples.h"

#include <filesystem>

#include "quorate/base/error.h"

namespace quorate {

void Examples::Block::clear() {
  rows.clear();
  text.clear();
  index.clear();
  value.clear();
}

void Examples::Block::add(const Record& record, const Features& x, const At& at) {
  Row& row = rows.emplace_back();
  const auto put = [&](std::string_view part) {
    text.insert(text.end(), part.begin(), part.end());
    return text.size();
  };
  row.id = put(record.id);
  row.task = put(record.task);
  row.label = put(record.label);
  index.insert(index.end(), x.index.begin(), x.index.end());
  value.insert(value.end(), x.value.begin(), x.value.end());
  row.index = index.size();
  row.value = value.size();
  row.norm = x.norm;
  row.time = record.seconds;
  row.at = at;
}

Examples::Examples(const std::string& path, const ReadOptions& options, Featurizer& featurizer, Labels& labels, bool ahead)
    : reader_(open_reader(path, options)), featurizer_(featurizer), labels_(labels), skip_(options.skip_bad_lines) {
  std::error_code ignored;
  const bool file = path != "-" && std::filesystem::is_regular_file(reader_->path(), ignored);
  ahead_ = ahead && file && featurizer.settings().bits > 0;
  featurizer_.begin(*reader_);
}

/// Until it has so many bytes, at least one example, or the file is at its end. `arrange`: instances are made whole here,
/// not by who takes them.
void Examples::fill(Block& block, std::size_t bytes, bool arrange) {
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

void Examples::read_ahead(const std::stop_token& end) {
  for (bool last = false; !last;) {
    bool behind = false;  // is who takes them: then he is spared what can be done here
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, end, [&] { return filled_ - taken_ < kBlocks; })) return;
      behind = filled_ - taken_ > 1;
    }
    Block& block = blocks_[filled_ % kBlocks];  // nobody else looks at it
    fill(block, kBlockBytes, behind);
    last = block.last;
    const std::lock_guard lock(mutex_);
    ++filled_;
    changed_.notify_all();
  }
}

const Examples::Block* Examples::next_block() {
  if (!ahead_) {
    fill(blocks_[0], 1, true);
    return blocks_;
  }
  if (block_ == nullptr) {  // many files are no longer than a block: a thread would cost more than it brings
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

bool Examples::next(Item& item) {
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
    const Row before = row_ == 0 ? Row{} : block_->rows[row_ - 1];
    const Row& row = block_->rows[row_++];
    at_ = row.at;
    if (at_.skipped > 0 && first_skipped_.empty()) first_skipped_ = block_->first_skipped;
    const char* const text = block_->text.data();
    item.id = {text + before.label, row.id - before.label};
    item.task = {text + row.id, row.task - row.id};
    if (item.task.empty()) item.task = kOnlyTask;
    item.time = row.time;
    item.x = {{block_->index.data() + before.index, row.index - before.index},
              {block_->value.data() + before.value, row.value - before.value},
              row.norm};
    if (row.norm == 0) item.x = featurizer_.arrange(item.x, scratch_);
    try {
      item.label = labels_({text + row.task, row.label - row.task});
      return true;
    } catch (const DataError& e) {
      const std::string what = path() + ":" + std::to_string(at_.line) + ": " + e.what();
      if (!skip_) throw LineError(what);
      ++rejected_;
      if (first_skipped_.empty()) first_skipped_ = what;
    }
  }
}

std::string_view Examples::coming_task(std::size_t ahead) const {
  if (block_ == nullptr || row_ + ahead > block_->rows.size()) return {};
  const Row& row = block_->rows[row_ + ahead - 1];
  return {block_->text.data() + row.id, row.task - row.id};
}

}  // namespace quorate
