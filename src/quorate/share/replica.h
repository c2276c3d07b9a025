// A copy of a desk on another machine, made from its log. No I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quorate/desk/desk.h"

namespace quorate {

/// Appends a record of the journal to a text of the log: "SEQUENCE BYTES\n", its bytes, "\n".
void add_to_log(std::string& log, std::uint64_t sequence, std::string_view record);

/// A record of the journal in a text of the log.
struct LogRecord {
  std::uint64_t sequence = 0;
  std::string_view bytes;
};
/// Takes the first record off a text of the log. Throws DataError for a text that is not a log's.
LogRecord take_from_log(std::string_view& log);

/// A moment of a desk, from which a replica starts. As text: a line of JSON with the name of the log, the sequence of the
/// next record, the settings and the bytes of the model and of the state, both 0 if nothing has happened yet; then these.
struct DeskMoment {
  std::string log;
  std::uint64_t sequence = 0;
  std::string settings;  ///< of the desk as it began: DeskSettings::to_json()
  std::string model = {}, state = {};

  std::string text() const;
};

/// How the reply of an event, applied again, differs from that of its record; empty: it does not.
std::string other_result(std::string_view record, const DeskReply& reply);

/// A desk that applies the records of another one, in their order: after the same record both have the same model and
/// state, to the bit. Thread-safety: as Desk.
class Replica {
 public:
  /// Throws DataError for a text that is not of a DeskMoment of this version.
  explicit Replica(std::string_view moment);

  /// Applies records, at most that many; returns their bytes of the text. Throws DataError, with the sequence, for a text
  /// that is not a log's, a record that does not follow on the last one, and one that gives another result than it gave:
  /// those before it are applied. Then a new replica is needed.
  std::size_t apply(std::string_view log, std::uint64_t most = ~std::uint64_t{0});

  const Desk& desk() const { return *desk_; }
  const std::string& log() const { return log_; }  ///< its name
  std::uint64_t next() const { return next_; }     ///< sequence of the next record

 private:
  std::string log_;
  std::uint64_t next_ = 0;
  std::optional<Desk> desk_;
};

}  // namespace quorate
