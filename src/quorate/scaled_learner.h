// Makes an algorithm's plain struct a row of the registry. The adaptor scales instances, and checks at compile time that the
// struct has the verbs that its row promises.
#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quorate/learner.h"
#include "quorate/queries/query_rules.h"
#include "quorate/registry.h"
#include "quorate/weights/scaling.h"

namespace quorate {

/// Requirements of an algorithm's struct: name, title, source; Params; a constructor; these verbs; a state list. prefetch()
/// and check() may be empty, but are required, so that neither is omitted by mistake.
template <class A>
concept LearnerType = Described<typename A::Params> &&
    std::constructible_from<A, const typename A::Params&, const LearnerContext&> && HasState<A> &&
    requires(A a, const A c, const Example& e, const Decision& d, Rng& rng, std::span<const Example> round,
             std::span<Decision> out) {
  { c.score(e) } -> std::same_as<double>;
  a.decide(round, rng, out);
  { a.learn(e, d, 1.0, rng) } -> std::same_as<bool>;
  { c.influence(Task{}, Task{}) } -> std::same_as<double>;
  c.prefetch(e);  // before score() and decide(): prefetches the memory they read
  a.check();      // after its state was loaded; throws DataError
};

/// Whether A has exactly the optional verbs that `can` promises.
template <class A>
constexpr bool verbs_fit(const Capabilities& can) {
  constexpr bool calibrated = requires(const A c) {
    { c.log_odds(1.0) } -> std::same_as<double>;
  };
  constexpr bool learns_neither = requires(A a, const Example& e, const Decision& d, Rng& rng) {
    { a.learn_neither(e, d, rng) } -> std::same_as<bool>;
  };
  constexpr bool keeps_instances = requires(const A c) {
    { c.support_vectors() } -> std::same_as<std::size_t>;
  };
  constexpr bool forgets = requires(A a) { a.free_memory(std::size_t{}); };
  constexpr bool untracked_tasks = requires(A a, const A c) {
    a.reserve_tasks(std::size_t{});
    { c.bytes_for_tasks(std::size_t{}) } -> std::same_as<std::size_t>;
  };
  constexpr bool peer_benefit = requires(const A c) {
    { c.peer_benefit(Task{}) } -> std::same_as<PeerBenefit>;
  };
  constexpr bool paced = requires(A a) { a.set_query_scale(1.0); };
  return can.calibrated == calibrated && can.learns_neither == learns_neither && can.keeps_instances == keeps_instances &&
         can.forgets == forgets && can.untracked_tasks == untracked_tasks && can.peer_benefit == peer_benefit &&
         can.paced == paced;
}

/// What an algorithm adds to the loop of the adaptor, declared in its struct: static constexpr Stages stages{.looks = true}.
struct Stages {
  bool looks = false;        ///< look(e): learns from an example that is not asked about
  bool replays = false;      ///< replays_due(), recent, learn_again(item, e), keep(e): learns again
  bool embeds = false;       ///< directions(), turn(scaled): learns from embeddings too, anew when directions change
  bool shifts = false;       ///< shift(): what score() adds to the sum over features
  bool leads = false;        ///< lead(e): the margin that says whether a label of e's task is predicted
  bool varies = false;       ///< variance(e): of the margin
  bool judges = false;       ///< judge(e, scale, draw, memory): where it is more than score(e) and the query rule
  bool reserves = false;     ///< reserve(e): before learn(e), takes the memory that it needs
  bool makes_room = false;   ///< make_room(round): the same, before decide()
  bool has_scratch = false;  ///< release_scratch()
  bool has_tables = false;   ///< slots(), and a constructor that is given them: tables of a fixed size
  bool has_graph = false;    ///< A.pack() and A.unpack(): the interaction matrix
  bool grows = false;        ///< ensure_tasks(n): makes a task that was not seen before
  bool operator==(const Stages&) const = default;
};
template <class A>
constexpr Stages stages_of() {
  if constexpr (requires { A::stages; }) return A::stages;
  return {};
}
/// The stages whose members A has.
template <class A>
constexpr Stages stages_found() {
  const auto same = [](const Example& e) { return e; };
  return {.looks = requires(A a, const Example& e){a.look(e);
}
, .replays = requires(A a, const Example& e) {
  { a.replays_due() } -> std::same_as<std::uint64_t>;
  a.learn_again(*a.recent.next().first, e);
  a.keep(e);
}
, .embeds = requires(A a) {
  a.directions().due();
  a.turn(same);
}
, .shifts = requires(const A c) {
  { c.shift() } -> std::same_as<double>;
}
, .leads = requires(const A c, const Example& e) {
  { c.lead(e) } -> std::same_as<double>;
}
, .varies = requires(const A c, const Example& e) {
  { c.variance(e) } -> std::same_as<double>;
}
, .judges = requires(const A c, const Example& e, JudgeMemory& memory) {
  { c.judge(e, 1.0, 0.5, memory) } -> std::same_as<Decision>;
}
, .reserves = requires(A a, const Example& e) { a.reserve(e); }
, .makes_room = requires(A a, std::span<const Example> round) { a.make_room(round); }
, .has_scratch = requires(A a) { a.release_scratch(); }
, .has_tables = requires(const A c) {
  { c.slots() } -> std::same_as<std::size_t>;
}
, .has_graph = requires(A a) { a.A.unpack(a.A.pack()); }
, .grows = requires(A a) { a.ensure_tasks(std::size_t{}); }
};  // namespace quorate
}

/// A learner's own parameters, and the scale, which the adaptor adds.
template <class A, Capabilities kCan, class DefaultScale>
struct WithScale : A::Params {
  Scale scale = DefaultScale{};
  static constexpr auto fields() { return std::tuple_cat(A::Params::fields(), std::tuple{scale_field(&WithScale::scale)}); }

  /// The capabilities with these parameters: those of the row, and those of the query rule.
  Capabilities capabilities() const {
    Capabilities out = kCan;
    QueryTraits rule;
    if constexpr (std::derived_from<typename A::Params, SharedAnnotatorParams>)
      rule = SharedAnnotatorParams::traits();
    else if constexpr (requires { this->query; })
      rule = traits_of(this->query);
    out.paced |= rule.paced;
    out.selects |= rule.selects;
    out.draws |= rule.draws;
    out.judges &= !rule.by_round;
    if constexpr (requires { this->refine(out); }) this->refine(out);
    return out;
  }
};

/// The adaptor. It scales instances before an algorithm sees them: in decide() by the counts up to the end of the current
/// round, in learn() and score() by the current counts.
template <LearnerType A, Capabilities kCan, class DefaultScale>
class ScaledLearner final : public Learner {
 public:
  using Params = WithScale<A, kCan, DefaultScale>;
  static constexpr Stages kStages = stages_of<A>();

  ScaledLearner(const Params& params, const LearnerContext& context)
      : params_(params),
        can_(params.capabilities()),
        limited_(is_limited(context.memory)),
        scaling_(params.scale, context.restore ? 0 : Scaling::slots_for(params.scale, context.memory), context.memory),
        a_(std::make_unique<A>(params, context)) {
    scaling_.set_kinds(context.kinds);
  }

  const Capabilities& capabilities() const override { return can_; }

  double score(const Example& e) const override {
    return read(e, [this](const Example& x) { return finite(a_->score(x)); });
  }
  Decision judge(const Example& e, [[maybe_unused]] double query_scale, [[maybe_unused]] double draw,
                 [[maybe_unused]] JudgeMemory& memory) const override {
    return read(e, [&](const Example& x) {
      Decision d;
      if constexpr (kStages.judges) {
        d = a_->judge(x, query_scale, draw, memory);
      } else if constexpr (kCan.judges) {
        d.margin = a_->score(x);
        a_->query.judge(query_scale, draw, d);
      }
      d.margin = finite(d.margin);
      return d;
    });
  }
  void explain([[maybe_unused]] const Example& e, [[maybe_unused]] std::span<Contribution> out) const override {
    if constexpr (kCan.additive) {
      std::vector<double> values;
      const Features x = scaling_.changes() ? scaled(e, values).x : e.x;
      if constexpr (kStages.embeds)
        if (a_->directions().any()) return a_->explain({e.task, x, e.group}, out);
      for (std::size_t k = 0; k < x.size(); ++k) {
        out[k] = {};
        if (x.value[k] == 0) continue;
        const Index index = x.at(k);
        Example alone{kUntracked, {{&index, 1}, {&x.value[k], 1}}, e.group};  // margins are sums over features
        out[k].shared = finite(a_->score(alone));
        alone.task = e.task;
        out[k].own = finite(a_->score(alone)) - out[k].shared;
        if constexpr (kStages.varies) out[k].uncertainty = a_->variance(alone);
        if constexpr (kStages.shifts)  // belongs to the constant feature
          if (index != 0) out[k].shared -= a_->shift();
      }
    }
  }
  void prefetch(const Example& e) const override {
    if (scaling_.changes()) scaling_.prefetch(e.x);
    a_->prefetch(e);
  }
  void decide(const Round& round, Rng& rng, std::span<Decision> out) override {
    const std::span<const Example> examples = round.examples;
    const std::size_t step = round.tasks_per_instance;
    if (examples.size() > 1)
      for (const Example& e : examples.first(std::min(kAhead, examples.size()))) prefetch(e);
    if constexpr (kStages.makes_room)  // first, as counting cannot be undone
      if (limited_) a_->make_room(examples);
    for (std::size_t n = 0; n < examples.size(); n += step) count(examples[n].x);
    if (!scaling_.changes()) return decide_scaled(examples, rng, out);
    renew(round_, examples.size());
    round_.assign(examples.begin(), examples.end());
    std::size_t size = 0;
    for (std::size_t n = 0; n < examples.size(); n += step) size += examples[n].x.size();
    renew(values_, size);
    values_.resize(size);
    for (std::size_t n = 0, at = 0; n < examples.size(); n += step) {
      const Features x = scaling_(examples[n].x, std::span(values_).subspan(at));
      for (std::size_t task = 0; task < step; ++task) round_[n + task].x = x;
      at += x.size();
    }
    decide_scaled(round_, rng, out);
  }
  /// An algorithm that `weighs` gets any weight. Others learn the label once per whole unit of its weight, then once with
  /// the remainder.
  bool learn(const Example& e, const Decision& d, Answer y, Rng& rng) override {
    if (kCan.weighs || e.weight == 1) return learn_once(e, d, y, rng);
    bool any = false;
    Example part = e;
    Decision now = d;
    const auto whole = static_cast<std::uint64_t>(e.weight);
    const double rest = e.weight - static_cast<double>(whole);
    for (std::uint64_t n = 0; n < whole + (rest > 0); ++n) {
      part.weight = n < whole ? 1 : rest;
      const bool updated = learn_once(part, now, y, rng);
      any |= updated;
      if (!updated && can_.mistake_driven) break;  // its prediction is correct by now
      now = {};
      now.margin = score(e);
      now.probability = d.probability;
    }
    return any;
  }
  void restart(const LearnerContext& context, bool recount) override {
    if (recount) {
      const std::size_t slots = scaling_.slots();
      scaling_ = Scaling(params_.scale, 0, context.memory);  // there may be no memory for two tables
      scaling_ = Scaling(params_.scale, slots, context.memory);
    }
    scaling_.set_kinds(context.kinds);
    scaling_.forget_labels();
    if constexpr (kStages.embeds) {
      auto directions = std::move(a_->directions());
      recount ? directions.forget() : directions.forget_instances();
      make_anew(context);
      a_->directions() = std::move(directions);
    } else {
      make_anew(context);
    }
  }
  /// Needs no label: counts features for scaling and, for a learner that `embeds`, which words occur together.
  void count(const Features& x) override {
    scaling_.count(x);
    if constexpr (kStages.embeds) {
      const auto words = scaling_.words(x);
      if (!words) return;
      a_->directions().see(*words);
      if (a_->directions().due() &&
          a_->directions().compute([this](const Features& f, std::span<double> out) { return scaling_(f, out); }))
        a_->turn([this](const Example& e) { return scaled(e, values_); });
    }
  }
  void make_task([[maybe_unused]] Task task) override {
    if constexpr (kStages.grows)
      a_->ensure_tasks(std::size_t{task} + 1);
    else if constexpr (kStages.has_graph)
      if (task != kUntracked) a_->A.ensure_tasks(std::size_t{task} + 1);
  }
  void look(const Example& e) override {
    if constexpr (kStages.looks) a_->look(scaling_.changes() ? scaled(e, values_) : e);
  }
  void set_kinds(const FeatureKinds& kinds) override { scaling_.set_kinds(kinds); }
  double influence(Task to, Task from) const override { return a_->influence(to, from); }
  std::string scale() const override { return scaling_.description(); }
  std::string scale_of(Index feature) const override { return scaling_.description(feature); }

  void set_query_scale([[maybe_unused]] double factor) override {
    if constexpr (kCan.paced)
      a_->set_query_scale(factor);
    else if constexpr (requires { a_->query.set_scale(factor); })
      a_->query.set_scale(factor);
  }
  double log_odds([[maybe_unused]] double margin) const override {
    if constexpr (kCan.calibrated) return a_->log_odds(margin);
    return 0;
  }
  std::size_t support_vectors() const override {
    if constexpr (kCan.keeps_instances) return a_->support_vectors();
    return 0;
  }
  void free_memory([[maybe_unused]] std::size_t bytes) override {
    if constexpr (kCan.forgets) a_->free_memory(bytes);
  }
  void release_scratch() override {
    round_ = {};
    values_ = {};
    if constexpr (kStages.has_scratch) a_->release_scratch();
  }
  std::size_t bytes_for_tasks([[maybe_unused]] std::size_t tasks) const override {
    if constexpr (kCan.untracked_tasks) return a_->bytes_for_tasks(tasks);
    return 0;
  }
  void reserve_tasks([[maybe_unused]] std::size_t tasks) override {
    if constexpr (kCan.untracked_tasks) a_->reserve_tasks(tasks);
  }
  PeerBenefit peer_benefit([[maybe_unused]] Task task) const override {
    if constexpr (kCan.peer_benefit) return a_->peer_benefit(task);
    return {};
  }

  void save(Writer writer) const override { state(*this, writer); }
  void load(Reader& reader) override {
    state(*this, reader);
    a_->check();
  }

 private:
  static auto graph_of(const A& a) {
    if constexpr (kStages.has_graph)
      return a.A.pack();
    else
      return std::monostate();
  }
  /// The graph and the prior are kept, not read from their files again, as tasks may have other names now.
  void make_anew(const LearnerContext& context) {
    LearnerContext again = context;
    again.restore = true;
    std::pmr::vector<double> prior;
    if constexpr (requires { a_->query.prior_weights(); }) prior = a_->query.prior_weights();
    [[maybe_unused]] auto graph = graph_of(*a_);
    if constexpr (kStages.has_tables) {  // tables of a fixed size keep it
      const std::size_t slots = a_->slots();
      a_ = nullptr;  // there may be no memory for both
      a_ = std::make_unique<A>(params_, again, slots);
    } else {
      if (limited_) a_ = nullptr;
      a_ = std::make_unique<A>(params_, again);
    }
    if constexpr (requires { a_->query.prior_weights(); }) a_->query.set_prior_weights(prior);
    if constexpr (kStages.has_graph) {
      if (!limited_) graph.tasks = context.tasks.size();  // under a limit there was no memory for others
      a_->A.unpack(graph);
      if constexpr (kStages.grows) a_->ensure_tasks(graph.tasks);
    }
  }

  static constexpr std::size_t kAhead = 4;  // examples of a round prefetched: more would evict each other

  template <class S>
  static void state(S& s, auto&& v) {
    A::state(*s.a_, v);
    if (s.scaling_.any()) v("scale", s.scaling_);
  }
  Example scaled(const Example& e, std::vector<double>& values) const {
    if (values.size() < e.x.size()) values.resize(e.x.size());
    return {e.task, scaling_(e.x, values), e.group, e.weight};
  }
  /// work(e scaled), changing nothing: several threads may read one learner.
  auto read(const Example& e, auto work) const {
    prefetch(e);
    if (!scaling_.changes()) return work(e);
    thread_local std::vector<double> values;
    return work(scaled(e, values));
  }
  /// Huge weights in a model file may overflow a margin; the result is always a finite number.
  static double finite(double margin) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    return std::isnan(margin) ? 0 : std::clamp(margin, -kLargest, kLargest);
  }
  void decide_scaled(std::span<const Example> examples, Rng& rng, std::span<Decision> out) {
    a_->decide(examples, rng, out);
    for (Decision& d : out) d.margin = finite(d.margin);
  }
  bool learn_once(const Example& e, const Decision& d, Answer y, Rng& rng) {
    if constexpr (requires { a_->query.reserve_task(e.task); }) a_->query.reserve_task(e.task);
    make_task(e.task);  // unsolicited label or rebuild: the task may be new
    if constexpr (kStages.reserves)
      if (y != kNeither) a_->reserve(e);
    if constexpr (kCan.additive)
      if (y != kNeither && scaling_.weighs_parts()) weigh_parts(e, y);
    const bool updated = scaling_.changes() ? learn_scaled(scaled(e, values_), d, y, rng) : learn_scaled(e, d, y, rng);
    if constexpr (kStages.replays)
      if (y != kNeither) replay(e);
    if constexpr (requires { a_->query.learned(e.task, true, updated); })
      a_->query.learned(e.task, y != kNeither && mistaken(y, d.margin), updated);
    return updated;
  }
  /// Learns which part alone, words or the columns of a table, would have predicted the label.
  void weigh_parts(const Example& e, Answer y) {
    parts_.resize(e.x.size());
    Example part = scaled(e, values_);
    const auto margin = [&](Scaling::Part of) {
      part.x.value = scaling_.only(of, e.x, values_, parts_);
      if constexpr (kStages.leads) return finite(a_->lead(part));
      return finite(a_->score(part));
    };
    const double columns = margin(Scaling::Part::kColumns);
    scaling_.learn(y, columns, margin(Scaling::Part::kWords));
  }
  /// An algorithm that `replays` learns again from earlier examples, scaled by the current counts.
  void replay(const Example& e) {
    for (std::uint64_t k = a_->replays_due(); k > 0; --k) {
      const auto [item, again] = a_->recent.next();
      a_->learn_again(*item, scaling_.changes() ? scaled(again, values_) : again);
    }
    a_->keep(e);
  }
  bool learn_scaled(const Example& e, const Decision& d, Answer y, Rng& rng) {
    if (y != kNeither) return a_->learn(e, d, y, rng);
    if constexpr (kCan.learns_neither) return a_->learn_neither(e, d, rng);
    return false;
  }

  Params params_;
  Capabilities can_;
  bool limited_;
  Scaling scaling_;
  std::unique_ptr<A> a_;        // null only if restart() failed
  std::vector<Example> round_;  // scratch: the round scaled, its values in values_
  std::vector<double> values_, parts_;
};

/// The row of algorithm A. kCan: its capabilities, apart from its query rule; a verb that is promised and missing, present
/// and not promised, or misspelt, is a compile-time error. DefaultScale: the scale unless the user sets another.
template <LearnerType A, Capabilities kCan, class DefaultScale = ScaleNone>
constexpr Algorithm registered() {
  static_assert(verbs_fit<A>(kCan), "the struct's optional verbs are not those that its capabilities promise");
  static_assert(stages_of<A>() == stages_found<A>(), "the struct's stages are not those that it declares");
  using Adaptor = ScaledLearner<A, kCan, DefaultScale>;
  using P = typename Adaptor::Params;
  return {A::name,
          A::title,
          A::source,
          kCan,
          &describe_params<P>,
          [](const Spec& spec, const LearnerContext& context) -> std::unique_ptr<Learner> {
            return std::make_unique<Adaptor>(read_params<P>(spec), context);
          },
          [](const Spec& spec) { return write_params(spec.word, read_params<P>(spec)); },
          [](const Spec& spec) { return read_params<P>(spec).capabilities(); }};
}

}  // namespace quorate
