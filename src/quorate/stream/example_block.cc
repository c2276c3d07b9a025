#include "quorate/stream/example_block.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <span>
#include <type_traits>
#include <utility>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "quorate/store/files.h"

namespace quorate {
namespace {

/// What stands before a block's bytes in a cache.
struct Header {
  std::uint64_t rows = 0, text = 0, index = 0, value = 0, first_skipped = 0, last = 0;
  ExampleBlock::At end;
  std::uint64_t checksum = 0;
};

/// Its bytes, to be read or to be filled.
template <class Block>
auto parts_of(Block& block) {
  using Byte = std::conditional_t<std::is_const_v<Block>, const char, char>;
  const auto bytes = [](auto& of) { return std::span(reinterpret_cast<Byte*>(of.data()), of.size() * sizeof(*of.data())); };
  return std::array{bytes(block.rows), bytes(block.text), bytes(block.index), bytes(block.value),
                    bytes(block.first_skipped)};
}

std::uint64_t checksum_of(Header header, const ExampleBlock& block) {
  header.checksum = 0;
  std::uint64_t out = hash64({reinterpret_cast<const char*>(&header), sizeof header});
  for (const auto part : parts_of(block)) out = out * 0x9E3779B97F4A7C15u + hash64({part.data(), part.size()});
  return out;
}

/// Whether each row ends where one can.
bool in_order(const ExampleBlock& block) {
  ExampleBlock::Row before;
  for (const ExampleBlock::Row& row : block.rows) {
    if (row.id < before.label || row.task < row.id || row.label < row.task || row.index < before.index ||
        row.value < before.value)
      return false;
    before = row;
  }
  return before.label == block.text.size() && before.index == block.index.size() && before.value == block.value.size();
}

}  // namespace

void ExampleBlock::clear() {
  rows.clear();
  text.clear();
  index.clear();
  value.clear();
}

void ExampleBlock::add(const Record& record, const Features& x, const At& at) {
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
  if (record.seconds) row.time = *record.seconds;
  row.weight = record.weight;
  row.unknown = record.unknown();
  row.at = at;
}

Features ExampleBlock::x(std::size_t row) const {
  const Row from = before(row), &r = rows[row];
  return {{index.data() + from.index, r.index - from.index}, {value.data() + from.value, r.value - from.value}, r.norm};
}

std::string BlockCache::first_line(const std::string& key) { return "quorate instances, format 4: " + one_line(key) + "\n"; }

BlockCache::BlockCache(const std::string& folder, const std::string& key) {
  const std::string first = first_line(key);
  path_ = (std::filesystem::path(folder) / (hash128_hex(first) + ".instances")).string();
  in_ = std::fopen(path_.c_str(), "rb");
  if (in_ == nullptr) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw FileError(folder + ": cannot be made: " + failed.message() + "; expected a folder for --cache");
    out_ = std::make_unique<OutputFile>(path_);
    out_->write(first);
    return;
  }
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(path_, none);
  left_ = none || size < first.size() ? 0 : size - first.size();
  std::string found(first.size(), '\0');
  if (std::fread(found.data(), 1, found.size(), in_) != found.size() || found != first) {
    std::fclose(in_);
    throw FileError(path_ + ": not a cache of these data, though its name says so; delete it");
  }
}

BlockCache::~BlockCache() {
  if (in_ != nullptr) std::fclose(in_);
}

void BlockCache::read(ExampleBlock& block) {
  const auto check = [&](bool good) {
    if (!good) throw FileError(path_ + ": damaged; delete it, and it is made anew");
  };
  Header header;
  check(left_ >= sizeof header && std::fread(&header, sizeof header, 1, in_) == 1);
  left_ -= sizeof header;
  const std::pair<std::uint64_t, std::size_t> parts[] = {{header.rows, sizeof(ExampleBlock::Row)},
                                                         {header.text, 1},
                                                         {header.index, sizeof(Index)},
                                                         {header.value, sizeof(double)},
                                                         {header.first_skipped, 1}};
  for (const auto& [size, bytes] : parts) {  // no more memory than there are bytes to fill it
    check(size <= left_ / bytes);
    left_ -= size * bytes;
  }
  check(header.last <= 1);
  block.rows.resize(header.rows);
  block.text.resize(header.text);
  block.index.resize(header.index);
  block.value.resize(header.value);
  block.first_skipped.resize(header.first_skipped);
  block.end = header.end;
  block.last = header.last != 0;
  for (const auto part : parts_of(block)) check(part.empty() || std::fread(part.data(), 1, part.size(), in_) == part.size());
  check(checksum_of(header, block) == header.checksum && in_order(block));
}

void BlockCache::write(const ExampleBlock& block) {
  Header header{block.rows.size(),          block.text.size(), block.index.size(), block.value.size(),
                block.first_skipped.size(), block.last,        block.end,          0};
  header.checksum = checksum_of(header, block);
  out_->write({reinterpret_cast<const char*>(&header), sizeof header});
  for (const auto part : parts_of(block)) out_->write({part.data(), part.size()});
  if (block.last) out_->commit();
}

}  // namespace quorate
