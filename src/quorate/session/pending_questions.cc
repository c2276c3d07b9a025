#include "quorate/session/pending_questions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "quorate/base/error.h"

namespace quorate {
namespace {

// What is kept of a decision that asked, beside that it did.
constexpr std::array kNumbers{&Decision::margin,          &Decision::probability, &Decision::draw,
                              &Decision::selection_score, &Decision::peer_margin, &Decision::peer_draw};

}  // namespace

void PendingQuestions::add(std::uint64_t ticket, const Example& e, const Decision& d, const Audit::Held& audit) {
  const auto& [index, value, norm] = e.x;
  std::uint32_t& of_task = of_task_[e.task];
  items_.emplace_hint(items_.end(), ticket,
                      Item{e.task, e.group, d, std::pmr::vector<Index>(index.begin(), index.end(), memory()),
                           std::pmr::vector<double>(value.begin(), value.end(), memory()), norm, e.weight, audit});
  audits_ += audit.marks > 0;
  bytes_ += bytes_of(e.x);
  items_.rbegin()->second.decision.ask = true;  // of an audit, too: it is not saved
  ++of_task;
}

const PendingQuestions::Item* PendingQuestions::find(std::uint64_t ticket) const {
  const auto found = items_.find(ticket);
  return found == items_.end() ? nullptr : &found->second;
}

void PendingQuestions::erase(std::uint64_t ticket) {
  const auto found = items_.find(ticket);
  bytes_ -= bytes_of(found->second.example().x);
  if (const auto of_task = of_task_.find(found->second.task); --of_task->second == 0) of_task_.erase(of_task);
  audits_ -= found->second.audit.marks > 0;
  items_.erase(found);
}

PendingQuestions::Packed PendingQuestions::pack() const {
  using Entry = const Items::value_type*;
  std::vector<Entry> all;
  std::vector<std::size_t> index_ends, value_ends;
  std::size_t index_end = 0, value_end = 0;
  for (const auto& item : items_) {
    all.push_back(&item);
    index_ends.push_back(index_end += item.second.index.size());
    value_ends.push_back(value_end += item.second.value.size());
  }
  const auto items = std::make_shared<const std::vector<Entry>>(std::move(all));
  const auto of = [n = items->size(), items]<class T>(Column<T>, auto get) {
    return Column<T>::of(n, [items, get](std::size_t i) { return static_cast<T>(get(*(*items)[i])); });
  };
  Packed out;
  out.ticket = of(out.ticket, [](const auto& e) { return e.first; });
  out.task =
      of(out.task, [](const auto& e) { return e.second.task == kUntracked ? kUntracked - e.second.group : e.second.task; });
  out.decision = Column<double>::of(items->size() * kNumbers.size(), [items](std::size_t i) {
    return (*items)[i / kNumbers.size()]->second.decision.*kNumbers[i % kNumbers.size()];
  });
  out.norm = of(out.norm, [](const auto& e) { return e.second.norm; });
  out.index_end = Column<std::uint64_t>({index_ends.begin(), index_ends.end()});
  out.value_end = Column<std::uint64_t>({value_ends.begin(), value_ends.end()});
  out.index = Column<Index>::joined(std::move(index_ends), [items](std::size_t i, std::size_t begin, std::size_t n) {
    return std::span((*items)[i]->second.index).subspan(begin, n);
  });
  out.value = Column<double>::joined(std::move(value_ends), [items](std::size_t i, std::size_t begin, std::size_t n) {
    return std::span((*items)[i]->second.value).subspan(begin, n);
  });
  if (std::any_of(items_.begin(), items_.end(), [](const auto& item) { return item.second.weight != 1; }))
    out.weight = of(out.weight, [](const auto& e) { return e.second.weight; });
  if (audits_ > 0) {
    out.audit_weight = of(out.audit_weight, [](const auto& e) { return e.second.audit.weight; });
    out.audit_learned = of(out.audit_learned, [](const auto& e) { return e.second.audit.learned; });
    out.audit_marks = of(out.audit_marks, [](const auto& e) { return e.second.audit.marks; });
  }
  return out;
}

void PendingQuestions::unpack(const Packed& p) {
  const std::size_t n = p.ticket.size();
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("pending questions: ") + why);
  };
  check(p.task.size() == n && p.index_end.size() == n && p.value_end.size() == n && p.norm.size() == n &&
            p.decision.size() == n * kNumbers.size(),
        "lists differ in length");
  const bool audits = !p.audit_weight.empty(), weighed = !p.weight.empty();
  check((!weighed || p.weight.size() == n) && p.audit_learned.size() == p.audit_weight.size() &&
            p.audit_marks.size() == p.audit_weight.size() && (!audits || p.audit_weight.size() == n),
        "lists differ in length");
  PendingQuestions read(memory());
  std::uint64_t index_at = 0, value_at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t index_end = p.index_end[i], value_end = p.value_end[i];
    check(index_end >= index_at && value_end >= value_at && index_end <= p.index.size() && value_end <= p.value.size(),
          "ends of instances do not ascend");
    std::vector<Index> index(index_end - index_at);
    std::vector<double> value(value_end - value_at);
    p.index.read(index_at, index);
    p.value.read(value_at, value);
    index_at = index_end;
    value_at = value_end;
    check(index.empty() || index.size() == value.size(), "an instance has more indices than values, or fewer");
    for (std::size_t k = 0; k < index.size(); ++k)
      check((k == 0 || index[k] > index[k - 1]) && index[k] <= kMaxIndex + 1, "features do not ascend");
    for (const double v : value) check(std::isfinite(v), "a value is not finite");
    const double norm = p.norm[i];
    check(std::isfinite(norm) && norm > 0, "a norm is not a positive number");
    const double weight = weighed ? p.weight[i] : 1;
    check(is_weight(weight), "a weight is out of range");
    const std::uint64_t ticket = p.ticket[i];
    check(read.items_.empty() || ticket > read.items_.rbegin()->first, "tickets do not ascend");
    Decision d;
    for (std::size_t k = 0; k < kNumbers.size(); ++k) d.*kNumbers[k] = p.decision[i * kNumbers.size() + k];
    d.ask = true;
    Audit::Held audit;
    if (audits) audit = {p.audit_weight[i], p.audit_learned[i], p.audit_marks[i]};
    check(audit.marks <= 2 && std::isfinite(audit.weight) && audit.weight >= 0, "an audit out of range");
    const Task task = p.task[i];
    const bool untracked = task > kUntracked - groups_ && task <= kUntracked;
    const std::uint32_t group = untracked ? kUntracked - task : task % groups_;
    read.add(ticket, {untracked ? kUntracked : task, {index, value, norm}, group, weight}, d, audit);
  }
  check(index_at == p.index.size() && value_at == p.value.size(), "the last instance does not end with the data");
  items_.swap(read.items_);
  of_task_.swap(read.of_task_);
  bytes_ = read.bytes_;
  audits_ = read.audits_;
}

}  // namespace quorate
