// The folder of a desk and its settings, as options of the commands that serve it.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/desk/settings.h"
#include "server/kafka.h"
#include "server/service.h"

namespace quorate::cli {

struct DeskFolder {
  const CLI::App* app = nullptr;
  std::string dir;
  DeskSettings settings;

  void add(CLI::App& command);
  /// The folder, with the settings of a new one, or what changes of one that exists; `this` must outlive the options. Throws
  /// UsageError: no --dir; labels that are missing; an option that the folder has otherwise and that never changes. Also as
  /// Service::settings_of.
  void set(server::ServiceOptions& options);
};

/// --kafka KEY=VALUE, repeatable: settings of librdkafka.
void add_kafka_settings(CLI::App& command, std::vector<std::string>& settings);
/// Throws UsageError for a setting without =.
kafka::Settings kafka_settings(const std::vector<std::string>& settings);
/// For kafka::Connection::waits: says once for what is waited, and throws Interrupted.
std::function<void(const std::string&)> waits_for_broker(std::function<void(std::string_view)> log);

}  // namespace quorate::cli
