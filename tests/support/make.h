// Small things that many tests make.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/example.h"
#include "quorate/base/name_table.h"
#include "quorate/base/rng.h"
#include "quorate/session/session.h"

namespace quorate::test {

/// A vector that owns its places and values.
struct Vector {
  std::vector<Index> index;
  std::vector<double> value;
  Features view() const { return {index, value}; }
  operator Features() const { return view(); }  // NOLINT: tests read better
};

inline Vector dense(std::vector<double> value) { return {{}, std::move(value)}; }
inline Vector sparse(std::vector<Index> index, std::vector<double> value) { return {std::move(index), std::move(value)}; }

/// A stream of examples with labels that a linear rule gives, all drawn from `seed`.
struct Stream {
  std::vector<Task> task;
  std::vector<Vector> x;
  std::vector<int> y;
  std::size_t size() const { return y.size(); }
  Example example(std::size_t i) const { return {task[i], x[i].view()}; }
};

/// Unit vectors in d dimensions (dense, or about half full if `holes`), K tasks that agree on most of their rule.
inline Stream make_stream(std::size_t examples, std::size_t K, std::size_t d, std::uint64_t seed, bool holes = false) {
  Rng rng = make_rng(seed, 7);
  const auto gaussian_like = [&] { return uniform(rng) + uniform(rng) + uniform(rng) - 1.5; };
  std::vector<double> common(d);
  for (double& v : common) v = gaussian_like();
  std::vector<std::vector<double>> rule(K, common);
  for (auto& w : rule)
    for (double& v : w) v += 0.3 * gaussian_like();
  Stream out;
  for (std::size_t n = 0; n < examples; ++n) {
    const auto i = static_cast<Task>(below(K, rng));
    Vector x;
    double squares = 0, margin = 0;
    for (std::size_t f = 0; f < d; ++f) {
      const double v = gaussian_like();
      if (holes && uniform(rng) < 0.5) continue;
      if (holes) x.index.push_back(static_cast<Index>(3 * f));
      x.value.push_back(v);
      squares += v * v;
      margin += v * rule[i][f];
    }
    for (double& v : x.value) v /= squares > 0 ? std::sqrt(squares) : 1;
    out.task.push_back(i);
    out.x.push_back(std::move(x));
    out.y.push_back(margin > 0 ? 1 : -1);
  }
  return out;
}

/// What an oracle answers about a label of the data: nothing if it is 0, unknown.
inline std::optional<int> known(int y) { return y == 0 ? std::nullopt : std::optional(y); }

/// An oracle's number for an answer that comes later.
inline constexpr int kLater = 2;
inline Reply reply_of(std::optional<int> y) {
  return !y ? Reply::unknown() : *y == kLater ? Reply::later() : Reply(answer_of(*y));
}

inline std::optional<Outcome> answer_to(Session& session, std::uint64_t ticket, int y) {
  return session.answer(ticket, answer_of(y));
}

/// One round; oracle(n) is a number or nothing, as above.
template <class Oracle>
void run_round(Session& session, std::span<const Example> round, Oracle oracle, std::span<Outcome> out) {
  const auto outcomes = quorate::run_round(session, {round}, [&](std::size_t n) { return reply_of(oracle(n)); });
  std::copy(outcomes.begin(), outcomes.end(), out.begin());
}

/// A round whose answers come later: each question gets a ticket.
inline std::span<const Outcome> run_round_later(Session& session, const Round& round) {
  return quorate::run_round(session, round, [](std::size_t) { return Reply::later(); });
}

/// One example through a session; y is its label, 0 if nobody knows it.
inline Outcome feed_one(Session& session, const Example& e, int y) {
  Outcome out;
  run_round(session, {&e, 1}, [y](std::size_t) { return known(y); }, {&out, 1});
  return out;
}

/// How tasks are called here: t0, t1, ...
inline std::string task_name(Task i) { return "t" + std::to_string(i); }
inline NameTable task_names(Task K) {
  NameTable out;
  for (Task i = 0; i < K; ++i) out.intern(task_name(i));
  return out;
}

/// Example n of the stream through a session; its task gets its place by name.
inline Outcome feed(Session& session, const Stream& s, std::size_t n) {
  return feed_one(session, {session.task(task_name(s.task[n])), s.x[n].view()}, s.y[n]);
}
/// Examples begin .. end - 1.
inline std::vector<Outcome> feed(Session& session, const Stream& s, std::size_t begin, std::size_t end) {
  std::vector<Outcome> out;
  for (std::size_t n = begin; n < end; ++n) out.push_back(feed(session, s, n));
  return out;
}
inline std::vector<Outcome> feed(Session& session, const Stream& s) { return feed(session, s, 0, s.size()); }

inline bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

}  // namespace quorate::test

namespace quorate {

/// Equal to the bit.
inline bool operator==(const Outcome& a, const Outcome& b) {
  return test::same_bits(a.decision.margin, b.decision.margin) &&
         test::same_bits(a.decision.probability, b.decision.probability) &&
         test::same_bits(a.decision.draw, b.decision.draw) && a.decision.ask == b.decision.ask && a.asked == b.asked &&
         a.answer == b.answer && a.updated == b.updated && a.audited == b.audited && a.ticket == b.ticket;
}
inline void PrintTo(const Outcome& s, std::ostream* os) {
  *os << "margin " << s.decision.margin << " p " << s.decision.probability << " draw " << s.decision.draw << " ask "
      << s.decision.ask << " asked " << s.asked << " label " << (s.answer ? std::to_string(int{*s.answer}) : "none")
      << " updated " << s.updated << " audited " << s.audited;
}

}  // namespace quorate
