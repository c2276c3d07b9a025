#include "quorate/engine/pending_questions.h"

#include <array>

#include "quorate/base/error.h"

namespace quorate {
namespace {

// What is kept of a decision that asked, beside that it did.
constexpr std::array kNumbers{&Decision::margin,          &Decision::probability, &Decision::draw,
                              &Decision::selection_score, &Decision::peer_margin, &Decision::peer_draw};

}  // namespace

void PendingQuestions::add(std::uint64_t ticket, const Example& e, const Decision& d) {
  const auto& [index, value, norm] = e.x;
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
  if (const auto of_task = of_task_.find(found->second.task); --of_task->second == 0) of_task_.erase(of_task);
  items_.erase(found);
}

PendingQuestions::Packed PendingQuestions::pack() const {
  Packed out;
  for (const auto& [ticket, item] : items_) {
    out.ticket.push_back(ticket);
    out.task.push_back(item.task);
    for (const auto number : kNumbers) out.decision.push_back(item.decision.*number);
    out.x.add(item.example().x);
  }
  return out;
}

void PendingQuestions::unpack(const Packed& p) {
  const std::size_t n = p.ticket.size();
  p.x.check("pending questions");
  if (p.task.size() != n || p.x.size() != n || p.decision.size() != n * kNumbers.size())
    throw DataError("pending questions: lists differ in length");
  for (std::size_t i = 1; i < n; ++i)
    if (p.ticket[i] <= p.ticket[i - 1]) throw DataError("pending questions: tickets do not ascend");
  items_.clear();
  of_task_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Decision d;
    for (std::size_t k = 0; k < kNumbers.size(); ++k) d.*kNumbers[k] = p.decision[i * kNumbers.size() + k];
    d.ask = true;
    add(p.ticket[i], {p.task[i], p.x[i]}, d);
  }
}

}  // namespace quorate
