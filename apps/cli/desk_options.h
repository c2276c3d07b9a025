// The folder of a desk and its settings, as options of the commands that serve it.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "quorate/desk/settings.h"
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

}  // namespace quorate::cli
