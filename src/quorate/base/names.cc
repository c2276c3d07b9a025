#include "quorate/base/names.h"

#include "quorate/base/hash.h"
#include "quorate/base/memory.h"

namespace quorate {

Names::Names(std::pmr::memory_resource* memory) : text_(memory), end_(memory), slot_(16, 0, memory) {}

std::string_view Names::operator[](std::uint32_t place) const {
  const std::uint64_t begin = place == 0 ? 0 : end_[place - 1];
  return {text_.data() + begin, end_[place] - begin};
}

std::size_t Names::slot_of(std::string_view name) const {
  const std::size_t mask = slot_.size() - 1;
  std::size_t slot = hash64(name) & mask;
  while (slot_[slot] != 0 && (*this)[slot_[slot] - 1] != name) slot = (slot + 1) & mask;
  return slot;
}

std::size_t Names::bytes_to_add(std::string_view name) const {
  return growth(text_, name.size()) + growth(end_, 1) +
         (2 * (size() + 1) > slot_.size() ? 2 * slot_.size() * sizeof(slot_[0]) : 0);
}

std::optional<std::uint32_t> Names::find(std::string_view name) const {
  const std::uint32_t found = slot_[slot_of(name)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

std::uint32_t Names::intern(std::string_view name) {
  std::size_t slot = slot_of(name);
  if (slot_[slot] != 0) return slot_[slot] - 1;
  if (size() >= 0xFFFFFFFEu) throw DataError("more than 4294967294 different names");
  text_.insert(text_.end(), name.begin(), name.end());
  end_.push_back(text_.size());
  const auto place = static_cast<std::uint32_t>(size() - 1);
  if (2 * size() > slot_.size())
    grow();
  else
    slot_[slot] = place + 1;
  return place;
}

void Names::grow() {
  std::size_t slots = slot_.size();
  while (slots < 2 * size()) slots *= 2;
  slot_.assign(slots, 0);
  for (std::uint32_t i = 0; i < size(); ++i) slot_[slot_of((*this)[i])] = i + 1;
}

void Names::unpack(const Packed& packed) {
  std::uint64_t last = 0;
  for (const std::uint64_t end : packed.end) {
    if (end < last || end > packed.text.size()) throw DataError("names: ends out of order");
    last = end;
  }
  if (last != packed.text.size()) throw DataError("names: text longer than the names in it");
  text_ = packed.text;
  end_ = packed.end;
  grow();
  for (std::uint32_t i = 0; i < size(); ++i)
    if (slot_[slot_of((*this)[i])] != i + 1) throw DataError("names: '" + std::string((*this)[i]) + "' comes twice");
}

}  // namespace quorate
