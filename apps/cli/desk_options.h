// The folder of a desk and its settings, as options of the commands that serve it.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "quorate/desk/settings.h"

namespace quorate::cli {

struct DeskFolder {
  const CLI::App* app = nullptr;
  std::string dir;
  DeskSettings settings;

  void add(CLI::App& command);
  /// Of a new folder the settings; nothing of one that exists. Throws UsageError: no --dir; labels that are missing; an
  /// option that the folder has otherwise. Also as Service::settings_of.
  std::optional<DeskSettings> of_new() const;
};

}  // namespace quorate::cli
