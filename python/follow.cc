// Judging by a model that follows the log of quorate serve: quorate._core.Follower, behind quorate.follow. No I/O.
#include <nanobind/stl/string.h>

#include <mutex>

#include "module.h"
#include "quorate/desk/events.h"
#include "quorate/share/replica.h"
#include "quorate/share/worker.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quorate::python {
namespace {

std::string_view view(const nb::bytes& text) { return {text.c_str(), text.size()}; }

/// A replica and the worker of one source. Every member may be called by several threads at once.
class Follower {
  static nb::bytes bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }
  /// The work without the interpreter's lock, as the only one. A refusal by the desk is an error of the data.
  template <class Work>
  auto locked(Work work) {
    const nb::gil_scoped_release others;
    const std::lock_guard lock(mutex_);
    try {
      return work();
    } catch (const Refused& e) {
      throw DataError(e.detail + (e.expected.empty() ? "" : "; expected " + e.expected));
    }
  }

 public:
  Follower(const nb::bytes& moment, WorkerOptions options) : worker_(std::move(options)) { start(moment); }

  /// From another moment of the same desk.
  void start(const nb::bytes& moment) {
    locked([&] {
      auto made = std::make_unique<Replica>(view(moment));
      made->desk().check_followed();
      replica_ = std::move(made);
      return 0;
    });
  }
  std::string log() {
    return locked([&] { return replica_->log(); });
  }
  std::uint64_t record() {
    return locked([&] { return replica_->next(); });
  }
  /// A record at a time, so that judge() does not wait for all.
  void apply(const nb::bytes& log) {
    for (std::string_view rest = view(log); !rest.empty();)
      rest.remove_prefix(locked([&] { return replica_->apply(rest, 1); }));
  }
  nb::bytes judge(const nb::bytes& lines) {
    std::string out;
    const bool room = locked([&] {
      if (worker_.make_room(replica_->desk())) return false;
      worker_.judge(replica_->desk(), view(lines), out);
      worker_.wrote();
      return true;
    });
    return room ? bytes(out) : nb::bytes("", 0);
  }
  nb::bytes predict(const nb::bytes& lines) {
    const DeskReply reply = locked([&] { return replica_->desk().predict(view(lines)); });
    return bytes(reply.text());
  }
  /// The event to post; empty if there is none. With `quiet`, only lines are worth one.
  nb::bytes to_send(bool quiet) {
    std::string out;
    locked([&] {
      std::string lines;
      if (quiet && worker_.waiting(replica_->desk()) == 0) return 0;
      if (auto shared = worker_.to_send(replica_->desk(), 256, lines)) out = to_record({0, *std::move(shared)});
      return 0;
    });
    return bytes(out);
  }
  std::uint64_t position() {
    return locked([&] { return worker_.next(replica_->desk()); });
  }
  std::size_t waiting() {
    return locked([&] { return worker_.waiting(replica_->desk()); });
  }
  bool done() {
    return locked([&] { return worker_.done(replica_->desk()); });
  }
  std::uint64_t labels() {
    return locked([&] { return replica_->desk().figures().bought; });
  }

 private:
  std::mutex mutex_;
  Worker worker_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

void add_follow(nb::module_& m) {
  nb::class_<Follower>(m, "Follower")
      .def(
          "__init__",
          [](Follower* self, const nb::bytes& moment, const std::string& source, std::uint64_t seed,
             std::uint64_t share_examples, std::uint64_t queue) {
            new (self) Follower(moment, {.source = source, .seed = seed, .share_examples = share_examples, .queue = queue});
          },
          "moment"_a, "source"_a, "seed"_a, "share_examples"_a, "queue"_a)
      .def("start", &Follower::start, "moment"_a)
      .def("apply", &Follower::apply, "log"_a)
      .def("judge", &Follower::judge, "lines"_a)
      .def("predict", &Follower::predict, "lines"_a)
      .def("to_send", &Follower::to_send, "quiet"_a)
      .def_prop_ro("log", &Follower::log)
      .def_prop_ro("record", &Follower::record)
      .def_prop_ro("position", &Follower::position)
      .def_prop_ro("waiting", &Follower::waiting)
      .def_prop_ro("done", &Follower::done)
      .def_prop_ro("labels", &Follower::labels);
}

}  // namespace quorate::python
