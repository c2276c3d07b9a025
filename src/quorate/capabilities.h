// Each learner's capabilities as data: the registry lists them, and the compiler checks them against the verbs.
#pragma once
#include <array>
#include <string_view>
#include <utility>

namespace quorate {

/// What a learner can do beyond predicting, deciding and learning. The first group follows from its parameters, above all
/// its query rule; the second is the algorithm's own.
struct Capabilities {
  bool paced = false;    ///< a query threshold b decides how much it asks: set_query_scale()
  bool selects = false;  ///< chooses among the examples of a round, and asks for a fixed number of them
  bool draws = false;    ///< decisions or updates depend on the seed

  bool calibrated = false;       ///< margins become probabilities: log_odds()
  bool joint = false;            ///< tasks decide together; tasks that exclude each other (one-vs-rest) are not supported
  bool mistake_driven = false;   ///< learns from a label if, and only if, y * margin <= 0
  bool learns_unasked = false;   ///< may learn from unlabelled examples
  bool learns_neither = false;   ///< the answer "neither" may teach something: learn_neither()
  bool keeps_instances = false;  ///< its model is a list of instances: support_vectors()
  bool forgets = false;          ///< drops parts of its model to stay within a memory limit: free_memory()
  bool untracked_tasks = false;  ///< continues when memory holds no more tasks: bytes_for_tasks(), reserve_tasks()
  bool additive = false;         ///< a margin is a sum over features: explain()
  bool groups = false;           ///< tasks may be in groups that share nothing with each other: Example::group
  bool rebuilds = false;         ///< can be learned again from kept labels alone: restart()
  bool judges = false;           ///< decides an example without changing anything: judge(). Not with a rule for whole rounds
  bool weighs = false;           ///< learns a label of any weight in one step; others repeat the step
  bool classes = false;          ///< learns the class of an instance from one label, not an answer about each class
  bool peer_benefit = false;     ///< counts how often listening to other tasks helped and hurt: peer_benefit()

  bool operator==(const Capabilities&) const = default;
};

struct CapabilityInfo {
  std::string_view name, meaning;
  bool Capabilities::*member;
};
/// Every capability, for help, documentation and bindings.
inline constexpr std::array kCapabilities{
    CapabilityInfo{"paced", "its labels can be spread evenly, or follow a rate", &Capabilities::paced},
    CapabilityInfo{"selects", "chooses among the examples of a round", &Capabilities::selects},
    CapabilityInfo{"draws", "its results depend on the seed", &Capabilities::draws},
    CapabilityInfo{"calibrated", "gives probabilities", &Capabilities::calibrated},
    CapabilityInfo{"joint", "tasks decide together", &Capabilities::joint},
    CapabilityInfo{"mistake-driven", "learns from mistakes only", &Capabilities::mistake_driven},
    CapabilityInfo{"learns-unasked", "learns from examples without a label, too", &Capabilities::learns_unasked},
    CapabilityInfo{"learns-neither", "can learn from the answer neither", &Capabilities::learns_neither},
    CapabilityInfo{"keeps-instances", "keeps support vectors", &Capabilities::keeps_instances},
    CapabilityInfo{"forgets", "forgets to stay within a memory limit", &Capabilities::forgets},
    CapabilityInfo{"untracked-tasks", "answers tasks that memory does not hold, by the shared weights",
                   &Capabilities::untracked_tasks},
    CapabilityInfo{"additive", "its margins are sums over features, which explain them", &Capabilities::additive},
    CapabilityInfo{"groups", "learns users and classes at once: each user has its own weights for every class",
                   &Capabilities::groups},
    CapabilityInfo{"rebuilds", "can be learned again from the labels it keeps, without those that are taken back",
                   &Capabilities::rebuilds},
    CapabilityInfo{"judges", "decides without changing its state: machines can share one model", &Capabilities::judges},
    CapabilityInfo{"weighs", "learns a label of any weight in one step; others repeat the step", &Capabilities::weighs},
    CapabilityInfo{"classes", "of classes against the rest, a label is the class, and all classes learn from it together",
                   &Capabilities::classes},
    CapabilityInfo{"peer-benefit", "counts whether listening to other tasks helps", &Capabilities::peer_benefit}};

}  // namespace quorate
