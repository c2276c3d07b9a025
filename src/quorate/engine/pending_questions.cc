#include "quorate/engine/pending_questions.h"

#include <array>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {
namespace {

// What is kept of a decision that asked, beside that it did.
constexpr std::array kNumbers{&Decision::margin,          &Decision::probability, &Decision::draw,
                              &Decision::selection_score, &Decision::peer_margin, &Decision::peer_draw};

bool ends_fit(const std::pmr::vector<std::uint64_t>& end, std::size_t items, std::size_t values) {
  std::uint64_t last = 0;
  for (const std::uint64_t e : end) {
    if (e < last) return false;
    last = e;
  }
  return end.size() == items && last == values;
}

}  // namespace

void PendingQuestions::add(std::uint64_t ticket, const Example& e, const Decision& d) {
  const auto& [index, value, norm] = e.x;
  if (e.task >= of_task_.size()) of_task_.resize(e.task + std::size_t{1});
  items_.emplace_hint(items_.end(), ticket,
                      Item{e.task, d, std::pmr::vector<Index>(index.begin(), index.end(), memory()),
                           std::pmr::vector<double>(value.begin(), value.end(), memory()), norm});
  bytes_ += bytes_of(e.x);
  ++of_task_[e.task];
}

const PendingQuestions::Item* PendingQuestions::find(std::uint64_t ticket) const {
  const auto found = items_.find(ticket);
  return found == items_.end() ? nullptr : &found->second;
}

void PendingQuestions::erase(std::uint64_t ticket) {
  const auto found = items_.find(ticket);
  bytes_ -= bytes_of(found->second.example().x);
  --of_task_[found->second.task];
  items_.erase(found);
}

PendingQuestions::Packed PendingQuestions::pack() const {
  Packed out;
  for (const auto& [ticket, item] : items_) {
    out.ticket.push_back(ticket);
    out.task.push_back(item.task);
    for (const auto number : kNumbers) out.decision.push_back(item.decision.*number);
    out.index.insert(out.index.end(), item.index.begin(), item.index.end());
    out.value.insert(out.value.end(), item.value.begin(), item.value.end());
    out.norm.push_back(item.norm);
    out.index_end.push_back(out.index.size());
    out.value_end.push_back(out.value.size());
  }
  return out;
}

void PendingQuestions::unpack(const Packed& p) {
  const std::size_t n = p.ticket.size();
  if (p.task.size() != n || p.norm.size() != n || p.decision.size() != n * kNumbers.size() ||
      !ends_fit(p.index_end, n, p.index.size()) || !ends_fit(p.value_end, n, p.value.size()))
    throw DataError("pending examples: sizes that do not fit");
  for (const double norm : p.norm)
    if (!std::isfinite(norm) || norm <= 0) throw DataError("pending examples: a length that cannot be");
  for (const double v : p.value)
    if (!std::isfinite(v)) throw DataError("pending examples: a value that is not a number");
  for (std::size_t i = 0, index = 0, value = 0; i < n; ++i) {
    const std::size_t indices = p.index_end[i] - index, values = p.value_end[i] - value;
    if (i > 0 && p.ticket[i] <= p.ticket[i - 1]) throw DataError("pending examples: tickets that do not ascend");
    if (indices != 0 && indices != values) throw DataError("pending examples: sizes that do not fit");
    for (std::size_t k = index; k < p.index_end[i]; ++k)
      if ((k > index && p.index[k] <= p.index[k - 1]) || p.index[k] > kMaxIndex + 1)
        throw DataError("pending examples: features that do not ascend");
    index = p.index_end[i];
    value = p.value_end[i];
  }
  items_.clear();
  of_task_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t index = i == 0 ? 0 : p.index_end[i - 1], value = i == 0 ? 0 : p.value_end[i - 1];
    Decision d;
    for (std::size_t k = 0; k < kNumbers.size(); ++k) d.*kNumbers[k] = p.decision[i * kNumbers.size() + k];
    d.ask = true;
    add(p.ticket[i],
        {p.task[i],
         {{p.index.data() + index, p.index_end[i] - index}, {p.value.data() + value, p.value_end[i] - value}, p.norm[i]}},
        d);
  }
}

}  // namespace quorate
