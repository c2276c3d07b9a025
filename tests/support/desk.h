// A service with a desk of spam, for tests of what is around it.
#pragma once
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "journal.h"
#include "server/service.h"

namespace quorate::test {

inline server::ServiceOptions spam_desk(const std::string& dir) {
  DeskSettings settings;
  settings.positive = "spam";
  settings.negative = "ham";
  settings.learning.labels = {"200"};
  settings.features.bits = 10;
  server::ServiceOptions out;
  out.dir = dir;
  out.settings = settings;
  out.clock = [now = 1'763'855'000.0]() mutable { return ++now; };
  return out;
}

/// Posts emails of these numbers; every third is spam.
inline void post_emails(server::Service& service, int from, int until) {
  std::string lines;
  for (int n = from; n < until; ++n)
    lines +=
        nlohmann::json{{"id", std::to_string(n)}, {"text", n % 3 == 0 ? "free money invoice" : "lunch on friday"}}.dump() +
        "\n";
  std::promise<void> done;
  service.submit_examples(lines, [&](DeskReply) { done.set_value(); });
  done.get_future().wait();
}

/// Answers all questions, right.
inline int answer_all(server::Service& service) {
  const auto ask = [&](event::Any what) {
    std::promise<DeskReply> reply;
    service.submit(std::move(what), [&](DeskReply r) { reply.set_value(std::move(r)); });
    return nlohmann::json::parse(reply.get_future().get().text());
  };
  for (int answered = 0;; ++answered) {
    const auto question = ask(event::Next{"ann", {}})["question"];
    if (question.is_null()) return answered;
    event::Answer answer;
    answer.lease = question["lease"];
    answer.label = std::stoi(question["example"].get<std::string>()) % 3 == 0 ? "spam" : "ham";
    ask(answer);
  }
}

}  // namespace quorate::test
