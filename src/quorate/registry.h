// Every learner by name, and how a plain struct becomes one.
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/learner_context.h"
#include "quorate/learner.h"
#include "quorate/params/params.h"
#include "quorate/weights/scaling.h"

namespace quorate {

/// What an algorithm's struct must have: name, title, source; Params; a constructor; the verbs; a state list. It may have:
/// `query`, its QueryPolicy or SharedAnnotator, which is told of every answer; learn_neither(e, d, rng), which learns from
/// the answer 0; listening(task); log_odds(margin); default_scale; prefetch(e), called before decide() and score();
/// free_memory(bytes); set_query_scale(factor), if it has a b that `query` does not know; check(), called after its state
/// was loaded.
template <class A>
concept LearnerType = Described<typename A::Params> &&
    std::constructible_from<A, const typename A::Params&, const LearnerContext&> && HasState<A> &&
    requires(A a, const A c, const Example& e, const Decision& d, Rng& rng, std::span<const Example> round,
             std::span<Decision> out) {
  { c.score(e) } -> std::same_as<double>;
  a.decide(round, rng, out);
  { a.learn(e, d, 1.0, rng) } -> std::same_as<bool>;
  { c.influence(Task{}, Task{}) } -> std::same_as<double>;
};

/// A row of the registry.
struct Algorithm {
  std::string_view name, title, source;
  std::vector<ParamInfo> (*params)();
  std::unique_ptr<Learner> (*make)(const Spec&, const LearnerContext&);
  Spec (*canonical)(const Spec&);
};

/// All learners, in the order of the documentation.
std::span<const Algorithm> algorithms();

/// The row that spec names. Throws UsageError with the names there are.
const Algorithm& algorithm(const Spec& spec);

/// spec with every parameter written out, checked. Throws UsageError.
Spec canonical(const Spec& spec);

/// A new learner. Throws UsageError for a spec that says nothing sensible; DataError or FileError for a graph's file.
std::unique_ptr<Learner> make_learner(const Spec& spec, const LearnerContext& context);

/// The scale that a learner has unless told otherwise: A::default_scale, or none.
template <class A>
constexpr Scale default_scale() {
  if constexpr (requires { A::default_scale; })
    return A::default_scale;
  else
    return ScaleNone{};
}

/// A learner's own parameters, and the one that the adaptor adds.
template <class A>
struct WithScale : A::Params {
  Scale scale = default_scale<A>();
  static constexpr auto fields() { return std::tuple_cat(A::Params::fields(), std::tuple{scale_field(&WithScale::scale)}); }
};

/// The adaptor. It scales instances before an algorithm sees them: with what was counted up to the end of the round at hand
/// in decide(), up to now in learn() and score().
template <LearnerType A>
class ScaledLearner final : public Learner {
 public:
  ScaledLearner(const WithScale<A>& params, const LearnerContext& context)
      : scaling_(params.scale, context.restore ? 0 : Scaling::slots(params.scale, context.memory), context.memory),
        a_(params, context) {}

  double score(const Example& e) const override {
    prefetch(e);
    if (!scaling_.changes()) return a_.score(e);
    thread_local std::vector<double> values;  // many may read one learner at the same time
    return a_.score(scaled(e, values));
  }
  void expect(const Example& e) override {
    prefetch(e);
    ++prefetched_;
  }
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) override {
    // Whoever expects examples has asked for the next one by now, and for this one before.
    if (round.size() == 1 && prefetched_ > 0)
      --prefetched_;
    else
      for (const Example& e : round.first(std::min(kAhead, round.size()))) prefetch(e);
    for (std::size_t n = 0; n < round.size(); ++n)
      if (!repeats(round, n)) scaling_.count(round[n].x);
    if (!scaling_.changes()) return a_.decide(round, rng, out);
    round_.assign(round.begin(), round.end());
    std::size_t size = 0;
    for (const Example& e : round) size += e.x.size();
    values_.resize(size);
    for (std::size_t n = 0, at = 0; n < round.size(); at += round[n++].x.size())
      round_[n].x = repeats(round, n) ? round_[n - 1].x : scaling_(round[n].x, std::span(values_).subspan(at));
    a_.decide(round_, rng, out);
  }
  bool learn(const Example& e, const Decision& d, double y, Rng& rng) override {
    const bool updated = scaling_.changes() ? learn_scaled(scaled(e, values_), d, y, rng) : learn_scaled(e, d, y, rng);
    if constexpr (requires { a_.query.learned(e.task, true, updated); })
      a_.query.learned(e.task, y != 0 && mistaken(y, d.margin), updated);
    return updated;
  }
  void free_memory(std::size_t bytes) override {
    if constexpr (requires { a_.free_memory(bytes); }) a_.free_memory(bytes);
  }
  bool set_query_scale(double factor) override {
    if constexpr (requires { a_.set_query_scale(factor); })
      return a_.set_query_scale(factor);
    else if constexpr (requires { a_.query.set_query_scale(factor); })
      return a_.query.set_query_scale(factor);
    else
      return false;
  }
  bool chooses() const override {
    if constexpr (requires { a_.query.chooses(); })
      return a_.query.chooses();
    else
      return false;
  }
  double influence(Task to, Task from) const override { return a_.influence(to, from); }
  std::string scale() const override { return scaling_.description(); }
  std::optional<double> log_odds(double margin) const override {
    if constexpr (requires { a_.log_odds(margin); })
      return a_.log_odds(margin);
    else
      return std::nullopt;
  }
  std::optional<PeerBenefit> peer_benefit(Task task) const override {
    if constexpr (requires { a_.peer_benefit(task); })
      return a_.peer_benefit(task);
    else
      return std::nullopt;
  }
  void save(Writer writer) const override { state(*this, writer); }
  void load(Reader& reader) override {
    state(*this, reader);
    if constexpr (requires { a_.check(); }) a_.check();
  }

 private:
  static constexpr std::size_t kAhead = 4;  // examples of a round prefetched: more would push each other out

  template <class S>
  static void state(S& s, auto&& v) {
    A::state(s.a_, v);
    if (s.scaling_.any()) v("scale", s.scaling_);
  }
  /// Whether the round's n-th example is the same instance as the one before, shown to another task.
  static bool repeats(std::span<const Example> round, std::size_t n) {
    return n > 0 && round[n].x.value.data() == round[n - 1].x.value.data() && round[n].x.size() == round[n - 1].x.size() &&
           round[n].x.index.data() == round[n - 1].x.index.data();
  }
  /// All that an example will read is asked for before anything is computed.
  void prefetch(const Example& e) const {
    if (scaling_.changes()) scaling_.prefetch(e.x);
    if constexpr (requires { a_.prefetch(e); }) a_.prefetch(e);
  }
  Example scaled(const Example& e, std::vector<double>& values) const {
    if (values.size() < e.x.size()) values.resize(e.x.size());
    return {e.task, scaling_(e.x, values)};
  }
  bool learn_scaled(const Example& e, const Decision& d, double y, Rng& rng) {
    if (y != 0) return a_.learn(e, d, y, rng);
    if constexpr (requires { a_.learn_neither(e, d, rng); }) return a_.learn_neither(e, d, rng);
    return false;
  }

  Scaling scaling_;
  A a_;
  std::size_t prefetched_ = 0;  // more often than decided
  std::vector<Example> round_;  // scratch: the round scaled, its values in values_
  std::vector<double> values_;
};

template <LearnerType A>
constexpr Algorithm row() {
  using P = WithScale<A>;
  return {A::name,
          A::title,
          A::source,
          &describe_params<P>,
          [](const Spec& spec, const LearnerContext& context) -> std::unique_ptr<Learner> {
            return std::make_unique<ScaledLearner<A>>(read_params<P>(spec), context);
          },
          [](const Spec& spec) { return write_params(spec.word, read_params<P>(spec)); }};
}

}  // namespace quorate
