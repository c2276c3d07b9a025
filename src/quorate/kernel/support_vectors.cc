#include "quorate/kernel/support_vectors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "quorate/base/error.h"
#include "quorate/base/simd.h"

namespace quorate {

SupportVectors::SupportVectors(const Kernel& kernel, std::pmr::memory_resource* memory)
    : kernel_(kernel),
      limit_(memory_limit(memory)),
      squared_(memory),
      blocks_(memory),
      bucket_(memory),
      of_slot_(memory),
      spare_(memory) {}

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
      const double* z = column(slot);
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

/// Whether a dense form of x, which may leave out features, takes little more.
bool SupportVectors::fits_dense(const Features& x) const {
  return dense_ && x.extent() <= kMostDense && (x.extent() == x.size() || x.extent() <= features());
}

namespace {

std::size_t nonzeros(const Features& x) {
  return x.size() - static_cast<std::size_t>(std::count(x.value.begin(), x.value.end(), 0.0));
}

}  // namespace

/// Without a limit chains have about one entry. Under a limit buckets take at most 1/32 of it, as shorter chains are not
/// worth the loss of a support vector.
std::size_t SupportVectors::buckets_for(std::size_t vectors, std::size_t entries) const {
  const std::size_t wanted = std::bit_ceil(entries);
  if (!limited()) return wanted > 2 * bucket_.size() ? std::max(wanted, kFirstBuckets) : bucket_.size();
  const std::size_t most = std::bit_floor(std::max<std::size_t>(limit_ / (32 * sizeof(void*)), 16));
  return vectors == 0 ? 0 : std::min(std::max(wanted, kFirstBuckets), most);
}

std::size_t SupportVectors::bytes_to_add(const Features& x) const {
  std::size_t bytes = bytes_to_fit(squared_, size() + 1);
  if (fits_dense(x)) {
    const std::size_t before = features(), all = std::max(before, x.extent());
    const bool new_block = size() == blocks_.size() * kBlock;
    // Blocks are reallocated one by one; the old one is freed each time.
    if (all > before) bytes += (blocks_.size() * (all - before) + before) * kBlock * sizeof(double);
    if (new_block) bytes += bytes_to_fit(blocks_, blocks_.size() + 1) + all * kBlock * sizeof(double);
    return bytes;
  }
  const std::size_t of_x = nonzeros(x), others = dense_ ? size() * features() : entries_;  // dense ones become entries
  bytes += bytes_to_fit(of_slot_, size() + 1);
  if (of_x > spare_.capacity()) bytes += of_x * sizeof(Entry);
  if (dense_) bytes += others * sizeof(Entry);
  const std::size_t buckets = buckets_for(size() + 1, others + of_x);
  if (buckets != bucket_.size()) bytes += (dense_ ? 2 : 1) * buckets * sizeof(void*);  // old ones are freed afterwards
  return bytes;
}

std::size_t SupportVectors::bytes_to_copy() const {
  return std::max({room_for(size()) * sizeof(squared_[0]), room_for(of_slot_.size()) * sizeof(Entries),
                   room_for(blocks_.size()) * sizeof(Block)});
}

std::size_t SupportVectors::bytes() const {
  std::size_t bytes = bytes_of(squared_) + bytes_of(blocks_) + bytes_of(bucket_) + bytes_of(of_slot_) + bytes_of(spare_);
  for (const Block& block : blocks_) bytes += bytes_of(block);
  for (const Entries& entries : of_slot_) bytes += bytes_of(entries);
  return bytes;
}

void SupportVectors::add(const Features& x) { add(x, size() + 1); }

void SupportVectors::add(const Features& x, std::size_t vectors) {
  const std::size_t slot = size();
  fit(squared_, vectors);
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
    if (slot == blocks_.size() * kBlock) {
      fit(blocks_, (vectors + kBlock - 1) / kBlock);
      blocks_.emplace_back(all * kBlock, 0.0);
    }
    double* z = column(slot);
    for (std::size_t n = 0; n < x.size(); ++n) z[x.at(n) * kBlock] = x.value[n];
  } else {
    fit(of_slot_, vectors);
    add_entries(x);
  }
  squared_.push_back(squared_norm(x));
}

void SupportVectors::add_entries(const Features& x) {
  const std::size_t all = nonzeros(x);
  Entries entries(memory());
  if (all <= spare_.capacity()) entries.swap(spare_);
  entries.clear();
  entries.reserve(all);
  if (const std::size_t buckets = buckets_for(of_slot_.size() + 1, entries_ + all); buckets != bucket_.size())
    rehash(buckets);
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

/// A smaller table is allocated after the old one was freed, so that this cannot fail.
void SupportVectors::rehash(std::size_t buckets) {
  if (buckets < bucket_.size()) bucket_ = std::pmr::vector<Entry*>(memory());
  if (buckets == 0) return;
  bucket_ = std::pmr::vector<Entry*>(buckets, nullptr, memory());
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
  fit(of_slot_, size() + 1);
  for (std::size_t slot = 0; slot < size(); ++slot) add_entries(vector(slot, index, value));
  dense_ = false;
  blocks_ = std::pmr::vector<Block>(memory());
}

void SupportVectors::remove(std::size_t slot) {
  const std::size_t last = size() - 1;
  if (dense_) {
    double *z = column(slot), *from = column(last);
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
    Entries gone = std::move(of_slot_[slot]);
    if (!limited()) spare_ = std::move(gone);
    if (slot != last) {
      of_slot_[slot] = std::move(of_slot_[last]);
      for (Entry& e : of_slot_[slot]) e.slot = static_cast<std::uint32_t>(slot);
    }
    of_slot_.pop_back();
  }
  squared_[slot] = squared_[last];
  squared_.pop_back();
  if (!limited()) return;
  fit(squared_);
  fit(of_slot_);
  blocks_.resize(dense_ ? (size() + kBlock - 1) / kBlock : 0, Block(memory()));
  fit(blocks_);
  if (const std::size_t buckets = dense_ ? 0 : buckets_for(size(), entries_); buckets != bucket_.size()) rehash(buckets);
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
    const double* z = column(slot);
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
  std::vector<std::size_t> ends;
  for (std::size_t slot = 0; slot < size(); ++slot) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + (dense_ ? features() : of_slot_[slot].size()));
    out.end.push_back(ends.back());
  }
  const auto column = [&]<class T>(T, auto at) {
    return Column<T>::joined(
        ends, [at, part = std::make_shared<std::vector<T>>()](std::size_t slot, std::size_t begin, std::size_t n) {
          part->resize(n);
          for (std::size_t k = 0; k < n; ++k) (*part)[k] = at(slot, begin + k);
          return std::span<const T>(*part);
        });
  };
  if (dense_) {
    out.value = column(
        double{}, [this](std::size_t slot, std::size_t f) { return blocks_[slot / kBlock][f * kBlock + slot % kBlock]; });
    return out;
  }
  out.index = column(std::uint32_t{}, [this](std::size_t slot, std::size_t n) { return of_slot_[slot][n].feature; });
  out.value = column(double{}, [this](std::size_t slot, std::size_t n) { return of_slot_[slot][n].value; });
  return out;
}

void SupportVectors::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("support vectors: ") + why);
  };
  const bool dense = packed.dense == 1;
  check(packed.dense <= 1 && packed.features <= (dense ? kMostDense : 0), "features out of range");
  check(packed.index.size() == (dense ? 0 : packed.value.size()), "index and value differ in size");
  for (std::size_t n = 0; n < packed.value.size(); ++n) check(std::isfinite(packed.value[n]), "a value is not finite");
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
  // Allocates everything at once: a model near its memory limit has no memory for the copies that growth makes.
  const std::size_t vectors = packed.end.size(), blocks = dense ? (vectors + kBlock - 1) / kBlock : 0;
  const auto reserve = [](auto& list, std::size_t size) {
    fit(list, size);
    list.reserve(size);
  };
  reserve(squared_, vectors);
  reserve(of_slot_, dense ? 0 : vectors);
  reserve(blocks_, blocks);
  if (blocks > 0) blocks_.emplace_back(packed.features * kBlock, 0.0);
  std::vector<Index> index;
  std::vector<double> value;
  begin = 0;
  for (const std::uint64_t end : packed.end) {
    value.resize(end - begin);
    index.resize(dense ? 0 : end - begin);
    packed.value.read(begin, value);
    packed.index.read(begin, index);
    add({index, value}, vectors);
    begin = end;
  }
}

}  // namespace quorate
