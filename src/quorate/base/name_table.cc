#include "quorate/base/name_table.h"

#include <algorithm>
#include <bit>

#include "quorate/base/hash.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"

namespace quorate {
namespace {

std::uint32_t hash_of(std::string_view name) { return static_cast<std::uint32_t>(hash64(name)); }

}  // namespace

NameTable::NameTable(std::pmr::memory_resource* memory) : text_(memory), entries_(memory), first_(memory) {}

std::string_view NameTable::operator[](std::uint32_t place) const {
  const Entry& e = entries_[place];
  return {text_[e.block].data() + e.begin, e.size};
}

/// Linear hashing (Litwin 1980): buckets are added one at a time, and each takes its names from an older one. The low bits
/// of a hash are the number of its bucket, with one bit fewer if that bucket does not exist yet.
std::size_t NameTable::bucket_of(std::uint32_t hash, std::size_t buckets) const {
  const std::size_t all = std::bit_ceil(buckets), bucket = hash & (all - 1);
  return bucket < buckets ? bucket : bucket - all / 2;
}

void NameTable::add_bucket() {
  const std::size_t made = first_.size();
  first_.resize(made + 1);
  if (made == 0) return;
  constexpr std::size_t kAhead = 4;  // buckets are divided in order: the next entries are prefetched
  const std::size_t divided = made - std::bit_floor(made);
  if (const std::uint32_t coming = first_[divided + std::min(kAhead, made - divided)]; coming != kNone)
    quorate::prefetch(&entries_[coming - 1]);
  std::uint32_t* from = &first_[divided];
  for (std::uint32_t* link = from; *link != kNone;) {
    const std::uint32_t place = *link;
    Entry& e = entries_[place - 1];
    if (bucket_of(e.hash, made + 1) != made) {
      link = &e.next;
      continue;
    }
    *link = e.next;
    e.next = first_[made];
    first_[made] = place;
  }
}

std::uint32_t NameTable::find(std::string_view name, std::uint32_t hash) const {
  if (first_.empty()) return kNone;
  std::uint32_t place = first_[bucket_of(hash, first_.size())];
  while (place != kNone && (entries_[place - 1].hash != hash || (*this)[place - 1] != name))
    place = entries_[place - 1].next;
  return place;
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
  const std::uint32_t found = find(name, hash_of(name));
  return found == kNone ? std::nullopt : std::optional(found - 1);
}

void NameTable::prefetch(std::string_view name, int step) const {
  if (first_.empty()) return;
  const std::uint32_t hash = hash_of(name), *first = &first_[bucket_of(hash, first_.size())];
  if (step == 0) return quorate::prefetch(first);
  std::uint32_t place = *first;
  if (step == 1 && place != kNone) return quorate::prefetch(&entries_[place - 1]);
  while (place != kNone && entries_[place - 1].hash != hash) place = entries_[place - 1].next;
  if (place != kNone) quorate::prefetch((*this)[place - 1].data());
}

/// A short list is one block, moved as it grows.
bool NameTable::first_block_grows(std::size_t size) const {
  return text_.size() == 1 && text_[0].size() + size <= kTextBlock;
}

std::size_t NameTable::text_to_add(std::size_t size) const {
  if (text_.empty()) return std::max<std::size_t>(size, 16);
  const auto& last = text_.back();
  if (last.size() + size <= last.capacity()) return 0;
  return first_block_grows(size) ? std::clamp(2 * last.capacity(), last.size() + size, kTextBlock)
                                 : std::max(size, kTextBlock);
}

std::size_t NameTable::bytes_to_add(std::string_view name) const {
  const std::size_t text = text_to_add(name.size());
  return text + (text > 0 ? bytes_to_reserve(text_, text_.size() + 1) : 0) + entries_.bytes_to_grow(size() + 1) +
         first_.bytes_to_grow(size() + 1);
}

std::uint32_t NameTable::intern(std::string_view name) {
  const std::uint32_t hash = hash_of(name), known = find(name, hash);
  if (known != kNone) return known - 1;
  if (size() >= 0xFFFFFFFEu) throw DataError("more than 4294967294 different names");
  if (name.size() > 0xFFFFFFFFu)
    throw DataError("a name of " + std::to_string(name.size()) + " bytes; expected less than 4 GB");
  entries_.reserve(size() + 1);
  first_.reserve(size() + 1);
  if (const std::size_t capacity = text_to_add(name.size()); capacity > 0) {
    if (first_block_grows(name.size())) {
      text_[0].reserve(capacity);
    } else {
      std::pmr::vector<char> block(text_.get_allocator());
      block.reserve(capacity);
      reserve(text_, text_.size() + 1);
      text_.push_back(std::move(block));
    }
  }
  // Nothing below can fail.
  std::pmr::vector<char>& text = text_.back();
  const Entry e{static_cast<std::uint32_t>(text_.size() - 1), static_cast<std::uint32_t>(text.size()),
                static_cast<std::uint32_t>(name.size()), hash, kNone};
  text.insert(text.end(), name.begin(), name.end());
  add_bucket();
  const auto place = static_cast<std::uint32_t>(size());
  entries_.resize(size() + 1);
  entries_[place] = e;
  std::uint32_t& first = first_[bucket_of(hash, first_.size())];
  entries_[place].next = first;
  first = place + 1;
  return place;
}

/// Copies the text of `other`, in blocks of the same size, after freeing its own.
void NameTable::take_text(const NameTable& other) {
  text_ = std::pmr::vector<std::pmr::vector<char>>(text_.get_allocator());
  reserve(text_, other.text_.size());
  for (const auto& block : other.text_) {
    text_.emplace_back().reserve(block.capacity());
    text_.back().assign(block.begin(), block.end());
  }
}

void NameTable::rename(std::uint32_t place, std::string_view name) {
  NameTable before, after;
  for (std::uint32_t i = 0; i < size(); ++i) {
    before.intern((*this)[i]);
    after.intern(i == place ? name : (*this)[i]);
  }
  try {
    take_text(after);
  } catch (...) {
    take_text(before);  // fits: these bytes were just freed
    throw;
  }
  for (std::uint32_t i = 0; i < size(); ++i) {
    entries_[i] = after.entries_[i];
    first_[i] = after.first_[i];
  }
}

NameTable::Packed NameTable::pack() const {
  std::vector<std::size_t> ends;  // of blocks of text
  for (const auto& block : text_) ends.push_back((ends.empty() ? 0 : ends.back()) + block.size());
  return {Column<char>::joined(ends, [this](std::size_t block, std::size_t begin,
                                            std::size_t n) { return std::span(text_[block]).subspan(begin, n); }),
          Column<std::uint64_t>::of(size(), [this, ends](std::size_t i) -> std::uint64_t {
            const Entry& e = entries_[i];
            return (e.block == 0 ? 0 : ends[e.block - 1]) + e.begin + e.size;
          })};
}

void NameTable::unpack(const Packed& packed) {
  NameTable names(text_.get_allocator().resource());
  std::uint64_t begin = 0;
  std::string name;
  for (std::size_t i = 0; i < packed.end.size(); ++i) {
    const std::uint64_t end = packed.end[i];
    if (end < begin || end > packed.text.size()) throw DataError("names: ends out of order");
    name.clear();
    for (; begin < end; ++begin) name += packed.text[begin];
    if (names.intern(name) != i) throw DataError("names: '" + name + "' occurs twice");
  }
  if (begin != packed.text.size()) throw DataError("names: text longer than the names in it");
  text_.swap(names.text_);
  entries_.swap(names.entries_);
  first_.swap(names.first_);
}

}  // namespace quorate
