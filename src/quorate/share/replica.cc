#include "quorate/share/replica.h"

#include <charconv>

#include "quorate/base/error.h"
#include "quorate/params/json.h"

namespace quorate {
namespace {

/// Takes the decimal number before `end` off the text.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(at - text.data());
  if (error != std::errc() || length == text.size() || *at != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

}  // namespace

void add_to_log(std::string& log, std::uint64_t sequence, std::string_view record) {
  log.append(std::to_string(sequence)).append(" ").append(std::to_string(record.size())).append("\n");
  log.append(record).append("\n");
}

LogRecord take_from_log(std::string_view& log) {
  const auto sequence = take_number(log, ' ');
  const auto bytes = sequence ? take_number(log, '\n') : std::nullopt;
  if (!bytes || log.size() <= *bytes || log[*bytes] != '\n')
    throw DataError("log: damaged; expected SEQUENCE BYTES, and these");
  const LogRecord out{*sequence, log.substr(0, *bytes)};
  log.remove_prefix(*bytes + 1);
  return out;
}

std::string DeskMoment::text() const {
  const Json head{{"log", log},
                  {"sequence", sequence},
                  {"settings", Json::parse(settings)},
                  {"model", model.size()},
                  {"state", state.size()}};
  return head.dump() + "\n" + model + state;
}

std::string other_result(std::string_view record, const DeskReply& reply) {
  if (!reply.changed) return reply.detail();
  const Json head = Json::parse(record.substr(0, record.find('\n')), nullptr, false);
  const Json was = head.is_object() ? head.value("was", Json()) : Json(),
             now = reply.was.empty() ? Json() : Json::parse(reply.was);
  return was == now ? "" : "it gives " + now.dump() + "; it gave " + was.dump();
}

Replica::Replica(std::string_view moment) {
  const auto end = moment.find('\n');
  const Json head = Json::parse(moment.substr(0, end), nullptr, false);
  std::string_view rest = end == moment.npos ? std::string_view() : moment.substr(end + 1);
  try {
    log_ = head.at("log").get<std::string>();
    next_ = head.at("sequence").get<std::uint64_t>();
    const auto model = head.at("model").get<std::size_t>(), state = head.at("state").get<std::size_t>();
    const DeskSettings settings = DeskSettings::from_json(head.at("settings").dump());
    if (rest.size() != model + state)
      throw DataError("a snapshot of " + std::to_string(rest.size()) + " bytes; expected " + std::to_string(model + state));
    if (model + state == 0)
      desk_.emplace(settings);
    else
      desk_.emplace(settings, Model::from_bytes(rest.substr(0, model)), rest.substr(model));
  } catch (const Json::exception&) {
    throw DataError("not the snapshot of a desk; expected what quorate serve sends for GET /v1/model");
  }
}

std::size_t Replica::apply(std::string_view log, std::uint64_t most) {
  const std::size_t all = log.size();
  for (; most > 0 && !log.empty(); --most) {
    const LogRecord record = take_from_log(log);
    if (record.sequence != next_)
      throw DataError("log: record " + std::to_string(record.sequence) + " instead of " + std::to_string(next_));
    const DeskReply reply = desk_->apply(record.bytes);
    if (const std::string how = other_result(record.bytes, reply); !how.empty())
      throw DataError("log: record " + std::to_string(record.sequence) + " does not apply: " + how +
                      "; expected the version of quorate that wrote it");
    ++next_;
  }
  return all - log.size();
}

}  // namespace quorate
