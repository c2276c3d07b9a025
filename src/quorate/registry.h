// Every learner by name, and how a plain struct becomes one.
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/learner.h"
#include "quorate/params/params.h"
#include "quorate/tasks/setup.h"

namespace quorate {

/// What an algorithm's struct must have: name, title, source; Params; a constructor; the verbs; a state list. It may have:
/// `query`, its Asking or Chooser, which is told of every answer; neither(e, d, rng), which learns from the answer 0;
/// listening(task); make_room(bytes); set_doubt(factor), if it has a b that `query` does not know; check(), called after its
/// state was loaded.
template <class A>
concept LearnerType = Described<typename A::Params> && std::constructible_from<A, const typename A::Params&, const Setup&> &&
    HasState<A> && requires(A a, const A c, const Example& e, const Decision& d, Rng& rng, std::span<const Example> round,
                            std::span<Decision> out) {
  { c.score(e) } -> std::same_as<double>;
  a.decide(round, rng, out);
  { a.learn(e, d, 1.0, rng) } -> std::same_as<bool>;
  { c.relation(Task{}, Task{}) } -> std::same_as<double>;
};

/// A row of the registry.
struct Algorithm {
  std::string_view name, title, source;
  std::vector<ParamInfo> (*params)();
  std::unique_ptr<Learner> (*make)(const Spec&, const Setup&);
  Spec (*canonical)(const Spec&);
};

/// All learners, in the order of the documentation.
std::span<const Algorithm> algorithms();

/// The row that spec names. Throws UsageError with the names there are.
const Algorithm& algorithm(const Spec& spec);

/// spec with every parameter written out, checked. Throws UsageError.
Spec canonical(const Spec& spec);

/// A new learner. Throws UsageError for a spec that says nothing sensible; DataError or FileError for a graph's file.
std::unique_ptr<Learner> make_learner(const Spec& spec, const Setup& setup);

template <LearnerType A>
class Erased final : public Learner {
 public:
  Erased(const typename A::Params& params, const Setup& setup) : a_(params, setup) {}

  double score(const Example& e) const override { return a_.score(e); }
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) override { a_.decide(round, rng, out); }
  bool learn(const Example& e, const Decision& d, double y, Rng& rng) override {
    bool updated = false;
    if (y != 0)
      updated = a_.learn(e, d, y, rng);
    else if constexpr (requires { a_.neither(e, d, rng); })
      updated = a_.neither(e, d, rng);
    if constexpr (requires { a_.query.learned(e.task, true, updated); })
      a_.query.learned(e.task, y != 0 && mistaken(y, d.margin), updated);
    return updated;
  }
  void make_room(std::size_t bytes) override {
    if constexpr (requires { a_.make_room(bytes); }) a_.make_room(bytes);
  }
  bool set_doubt(double factor) override {
    if constexpr (requires { a_.set_doubt(factor); })
      return a_.set_doubt(factor);
    else if constexpr (requires { a_.query.set_doubt(factor); })
      return a_.query.set_doubt(factor);
    else
      return false;
  }
  bool chooses() const override {
    if constexpr (requires { a_.query.chooses(); })
      return a_.query.chooses();
    else
      return false;
  }
  double relation(Task to, Task from) const override { return a_.relation(to, from); }
  std::optional<Listening> listening(Task task) const override {
    if constexpr (requires { a_.listening(task); })
      return a_.listening(task);
    else
      return std::nullopt;
  }
  void save(Writer writer) const override { A::state(a_, writer); }
  void load(Reader& reader) override {
    A::state(a_, reader);
    if constexpr (requires { a_.check(); }) a_.check();
  }

 private:
  A a_;
};

template <LearnerType A>
constexpr Algorithm row() {
  using P = typename A::Params;
  return {A::name,
          A::title,
          A::source,
          &describe_params<P>,
          [](const Spec& spec, const Setup& setup) -> std::unique_ptr<Learner> {
            return std::make_unique<Erased<A>>(read_params<P>(spec), setup);
          },
          [](const Spec& spec) { return write_params(spec.word, read_params<P>(spec)); }};
}

}  // namespace quorate
