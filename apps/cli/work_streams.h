// Where a worker's examples come from and its predictions go: files and pipes, or topics of Kafka.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/kafka.h"
#include "work_link.h"

namespace quorate::cli {

/// Lines of a source, one after the other.
struct Batch {
  std::string source;
  std::uint64_t position = 0;  ///< of the first
  std::uint64_t count = 0;
  std::string lines;              ///< each with its newline, but for the last one of a file that has none
  std::vector<std::string> keys;  ///< of the lines; none if they have none
};

/// Of one thread.
class Input {
 public:
  virtual ~Input() = default;
  /// At least one line, at most that many; none at the end, or when the worker is interrupted. Throws FileError, DataError,
  /// Unreachable.
  virtual Batch next(std::size_t most) = 0;
};

/// A file, from where the desk knows it to be judged, or - for standard input. An empty name of the source: the file's on
/// this machine; of a pipe, one for each run. `said` receives what the user should know.
std::unique_ptr<Input> lines_input(Link& link, const std::string& data, std::string source, bool quiet);
/// The partitions of a topic that a consumer group gives this member; the desk knows how far each is judged.
std::unique_ptr<Input> kafka_input(Link& link, const kafka::Address& topic, const kafka::Settings& settings,
                                   const std::string& group, const std::string& member, bool quiet);

/// Of one thread.
class Output {
 public:
  virtual ~Output() = default;
  /// A prediction for each line of the batch, out when this returns, or the worker is interrupted: whether they are out.
  virtual bool write(const Batch& batch, std::string_view predictions) = 0;
};
std::unique_ptr<Output> standard_output();
std::unique_ptr<Output> kafka_output(const kafka::Address& topic, const kafka::Settings& settings);

}  // namespace quorate::cli
