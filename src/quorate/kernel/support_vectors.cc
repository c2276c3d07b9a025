#include "quorate/kernel/support_vectors.h"

#include <algorithm>
#include <bit>

#include "quorate/base/error.h"
#include "quorate/base/simd.h"

namespace quorate {

SupportVectors::SupportVectors(const Kernel& kernel, std::pmr::memory_resource* memory)
    : kernel_(kernel), squared_(memory), blocks_(memory), bucket_(memory), of_slot_(memory), spare_(memory) {}

/// for_each(use): use(feature, value) for the non-zeros of the instance, whose squared length is xx.
template <class ForEach>
void SupportVectors::row(double xx, ForEach for_each, std::span<double> k) const {
  std::fill(k.begin(), k.end(), 0.0);
  if (dense_) {
    const std::size_t end = features();
    simd([&] {
      for (std::size_t b = 0; b * kBlock < size(); ++b) {
        const double* const block = blocks_[b].data();
        Lanes first{}, second{};
        for_each([&](Index f, double v) {
          if (f >= end) return;
          first += v * lanes(block + f * kBlock).v;
          second += v * lanes(block + f * kBlock + kLanes).v;
        });
        double sum[kBlock];
        lanes(sum).v = first;
        lanes(sum + kLanes).v = second;
        std::copy_n(sum, std::min(kBlock, size() - b * kBlock), k.data() + b * kBlock);
      }
    });
  } else if (size() > 0) {
    for_each([&](Index f, double v) {
      if (v == 0) return;
      for (const Entry* e = bucket_[bucket(f)]; e != nullptr; e = e->next)
        if (e->feature == f) k[e->slot] += v * e->value;
    });
  }
  std::visit([&](const auto& kernel) { kernel(xx, squared_, k); }, kernel_);
}

void SupportVectors::row(const Features& x, std::span<double> k) const {
  const auto for_each = [&](auto use) {
    for (std::size_t n = 0; n < x.size(); ++n) use(x.at(n), x.value[n]);
  };
  row(squared_norm(x), for_each, k);
}

void SupportVectors::row_of(std::size_t slot, std::span<double> k) const {
  const auto for_each = [&](auto use) {
    if (dense_) {
      const double* z = blocks_[slot / kBlock].data() + slot % kBlock;
      for (std::size_t f = 0; f < features(); ++f) use(static_cast<Index>(f), z[f * kBlock]);
    } else {
      for (const Entry& e : of_slot_[slot]) use(e.feature, e.value);
    }
  };
  row(squared_[slot], for_each, k);
}

double SupportVectors::self(const Features& x) const {
  const double xx = squared_norm(x);
  double k = xx;
  std::visit([&](const auto& kernel) { kernel(xx, {&xx, 1}, {&k, 1}); }, kernel_);
  return k;
}

/// Whether x, which may leave out features, costs little more as a dense one.
bool SupportVectors::fits_dense(const Features& x) const {
  return dense_ && x.extent() <= kMostDense && (x.extent() == x.size() || x.extent() <= features());
}

std::size_t SupportVectors::bytes_to_add(const Features& x) const {
  std::size_t bytes = growth(squared_, 1);
  if (fits_dense(x)) {
    const std::size_t before = features(), all = std::max(before, x.extent());
    const bool new_block = size() == blocks_.size() * kBlock;
    // Blocks grow one after the other, the old one being freed each time.
    if (all > before) bytes += (blocks_.size() * (all - before) + before) * kBlock * sizeof(double);
    if (new_block) bytes += growth(blocks_, 1) + all * kBlock * sizeof(double);
    return bytes;
  }
  bytes += growth(of_slot_, 1);
  if (x.size() > spare_.capacity()) bytes += x.size() * sizeof(Entry);
  if (dense_) bytes += size() * (features() * sizeof(Entry) + 3 * sizeof(Entries)) + sizeof(Entries);  // all become entries
  if (bucket_.empty()) bytes += kFirstBuckets * sizeof(void*);
  return bytes;
}

void SupportVectors::add(const Features& x) {
  const std::size_t slot = size();
  if (dense_ && !fits_dense(x)) make_sparse();
  if (dense_) {
    const std::size_t all = std::max(features(), x.extent());
    if (all > features()) {
      for (Block& block : blocks_) {
        Block grown(all * kBlock, 0.0, memory());
        std::copy(block.begin(), block.end(), grown.begin());
        block = std::move(grown);
      }
    }
    if (slot == blocks_.size() * kBlock) blocks_.emplace_back(all * kBlock, 0.0);
    double* z = blocks_[slot / kBlock].data() + slot % kBlock;
    for (std::size_t n = 0; n < x.size(); ++n) z[x.at(n) * kBlock] = x.value[n];
  } else {
    add_entries(x);
    // Shorter chains are worth having while there is plenty of memory, and no support vector.
    const std::size_t buckets = std::bit_ceil(entries_);
    if (buckets > 2 * bucket_.size() && bytes_left(memory()) > 16 * buckets * sizeof(void*)) rehash(buckets);
  }
  squared_.push_back(squared_norm(x));
}

void SupportVectors::add_entries(const Features& x) {
  if (bucket_.empty()) rehash(kFirstBuckets);
  Entries entries(memory());
  if (x.size() <= spare_.capacity()) entries.swap(spare_);
  entries.clear();
  entries.reserve(x.size());
  const auto slot = static_cast<std::uint32_t>(of_slot_.size());
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (x.value[n] == 0) continue;
    Entry*& head = bucket_[bucket(x.at(n))];
    entries.push_back({x.value[n], head, x.at(n), slot});
    head = &entries.back();  // stays where it is: there is room for all of them
  }
  entries_ += entries.size();
  of_slot_.push_back(std::move(entries));
}

void SupportVectors::rehash(std::size_t buckets) {
  bucket_.assign(buckets, nullptr);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
  for (Entries& entries : of_slot_)
    for (Entry& e : entries) {
      Entry*& head = bucket_[bucket(e.feature)];
      e.next = head;
      head = &e;
    }
}

void SupportVectors::make_sparse() {
  std::vector<Index> index;
  std::vector<double> value;
  for (std::size_t slot = 0; slot < size(); ++slot) add_entries(vector(slot, index, value));
  dense_ = false;
  blocks_ = std::pmr::vector<Block>(memory());
}

void SupportVectors::trim() {
  spare_ = Entries(memory());
  blocks_.resize((size() + kBlock - 1) / kBlock, Block(memory()));
}

void SupportVectors::remove(std::size_t slot) {
  const std::size_t last = size() - 1;
  if (dense_) {
    double *z = blocks_[slot / kBlock].data() + slot % kBlock, *from = blocks_[last / kBlock].data() + last % kBlock;
    for (std::size_t f = 0; f < features(); ++f) {
      z[f * kBlock] = from[f * kBlock];
      from[f * kBlock] = 0;
    }
  } else {
    for (Entry& e : of_slot_[slot]) {
      Entry** link = &bucket_[bucket(e.feature)];
      while (*link != &e) link = &(*link)->next;
      *link = e.next;
    }
    entries_ -= of_slot_[slot].size();
    spare_ = std::move(of_slot_[slot]);
    if (slot != last) {
      of_slot_[slot] = std::move(of_slot_[last]);
      for (Entry& e : of_slot_[slot]) e.slot = static_cast<std::uint32_t>(slot);
    }
    of_slot_.pop_back();
  }
  squared_[slot] = squared_[last];
  squared_.pop_back();
}

Features SupportVectors::vector(std::size_t slot, std::vector<Index>& index, std::vector<double>& value) const {
  index.clear();
  value.clear();
  const auto put = [&](std::size_t f, double v) {
    if (v == 0) return;
    index.push_back(static_cast<Index>(f));
    value.push_back(v);
  };
  if (dense_) {
    const double* z = blocks_[slot / kBlock].data() + slot % kBlock;
    for (std::size_t f = 0; f < features(); ++f) put(f, z[f * kBlock]);
  } else {
    for (const Entry& e : of_slot_[slot]) put(e.feature, e.value);
  }
  return {index, value};
}

SupportVectors::Packed SupportVectors::pack() const {
  Packed out;
  out.dense = dense_;
  out.features = dense_ ? features() : 0;
  for (std::size_t slot = 0; slot < size(); ++slot) {
    if (dense_) {
      const double* z = blocks_[slot / kBlock].data() + slot % kBlock;
      for (std::size_t f = 0; f < out.features; ++f) out.value.push_back(z[f * kBlock]);
    } else {
      for (const Entry& e : of_slot_[slot]) {
        out.index.push_back(e.feature);
        out.value.push_back(e.value);
      }
    }
    out.end.push_back(out.value.size());
  }
  return out;
}

void SupportVectors::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("support vectors: ") + why);
  };
  const bool dense = packed.dense == 1;
  check(packed.dense <= 1 && packed.features <= (dense ? kMostDense : 0), "features out of range");
  check(packed.index.size() == (dense ? 0 : packed.value.size()), "index and value differ in size");
  for (const double v : packed.value) check(std::isfinite(v), "a value is not finite");
  std::size_t begin = 0;
  for (const std::uint64_t end : packed.end) {
    check(end >= begin && end <= packed.value.size() && (!dense || end - begin == packed.features), "an end out of range");
    for (std::size_t n = begin; !dense && n < end; ++n)
      check(packed.index[n] <= kMaxIndex + 1 && (n == begin || packed.index[n] > packed.index[n - 1]),
            "features out of order");
    begin = end;
  }
  check(begin == packed.value.size(), "values that belong to no vector");
  *this = SupportVectors(kernel_, memory());
  dense_ = dense;
  // Room for all at once: a model near its memory limit has none for what growing takes.
  const std::size_t vectors = packed.end.size();
  squared_.reserve(vectors);
  if (dense) {
    blocks_.reserve((vectors + kBlock - 1) / kBlock);
    if (vectors > 0) blocks_.emplace_back(packed.features * kBlock, 0.0);
  } else {
    of_slot_.reserve(vectors);
  }
  begin = 0;
  for (const std::uint64_t end : packed.end) {
    add({std::span(packed.index).subspan(dense ? 0 : begin, dense ? 0 : end - begin),
         std::span(packed.value).subspan(begin, end - begin)});
    begin = end;
  }
}

}  // namespace quorate
