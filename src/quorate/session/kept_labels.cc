#include "quorate/session/kept_labels.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/utf8.h"

namespace quorate {
namespace {

/// In [0, 2^63).
std::uint64_t lot(std::uint64_t id) {
  std::uint64_t z = (id + 1) * 0x9E3779B97F4A7C15u;  // splitmix64
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (z ^ z >> 31) >> 1;
}

}  // namespace

KeptLabels::KeptLabels(std::pmr::memory_resource* memory, std::size_t bytes)
    : memory_(memory), ring_(Ring::of_bytes(memory, bytes, bytes)), annotators_(memory), keeps_(bytes >= 4 * sizeof(Item)) {}

void KeptLabels::add(const Example& e, KeptLabel label, std::string_view annotator) {
  label.id = next_id_++;
  label.annotator = 0;
  if (!keeps_ || lot(label.id) >= bound_) return;
  const auto packed = pack_instance(e.x, buffer_);
  const std::size_t bytes = packed.size() + e.id.size();
  if (!ring_.could_fit(bytes) || !ring_.take_memory()) {
    dropped_ = true;
    return;
  }
  while (!ring_.fits(bytes)) {
    bound_ -= bound_ / 4;
    ring_.erase_if([this](const Item& item) { return lot(item.id) >= bound_; });
    if (lot(label.id) >= bound_) return;
  }
  if (!ring_.take_memory()) {  // an empty ring gave it back
    dropped_ = true;
    return;
  }
  if (!annotator.empty() && (annotators_.find(annotator) || bytes_left(memory_) >= annotators_.bytes_to_add(annotator)))
    label.annotator = annotators_.intern(annotator) + 1;
  ring_.push(e, packed, label, e.id);
}

bool KeptLabels::drawn(std::size_t place, double share) const {
  return static_cast<double>(lot(ring_[place].id)) < share * static_cast<double>(bound_);
}

std::optional<std::size_t> KeptLabels::find(std::uint64_t id) const {
  std::size_t begin = 0, end = size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (ring_[middle].id < id)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < size() && ring_[begin].id == id ? std::optional(begin) : std::nullopt;
}

void KeptLabels::unpack(const Packed& p) {
  if (p.bound > kAll || p.next_id >= kAll || p.dropped > 1) throw DataError("kept labels: a number out of range");
  annotators_.unpack(p.annotators);
  for (std::uint32_t i = 0; i < annotators_.size(); ++i)
    if (find_not_utf8(annotators_[i]) != std::string_view::npos)
      throw DataError("kept labels: the name of an annotator is not UTF-8");
  std::optional<std::uint64_t> before;
  ring_.unpack(p.ring, "kept labels", [&](const Item& item) {
    const bool ascends = (!before || item.id > *before) && item.id < p.next_id;
    before = item.id;
    return ascends && (item.y == 1 || item.y == -1 || item.y == 0) && std::isfinite(item.margin) && item.probability >= 0 &&
           item.probability <= 1 && !std::isnan(item.time) && item.audit_weight >= 0 && item.annotator <= annotators_.size();
  });
  next_id_ = p.next_id;
  bound_ = p.bound;
  dropped_ = p.dropped != 0;
}

}  // namespace quorate
