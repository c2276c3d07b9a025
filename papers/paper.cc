#include "papers/paper.h"

#include <algorithm>
#include <filesystem>

#include "quorate/base/error.h"
#include "quorate/base/nearest.h"
#include "quorate/store/files.h"

namespace fs = std::filesystem;

namespace quorate::papers {

Json read_paper(const std::string& folder, const std::string& name) {
  const fs::path file = fs::path(folder) / (name + ".json");
  if (!fs::exists(file)) {
    const std::vector<std::string> names = names_of_papers(folder);
    throw UsageError("no paper is called '" + name + "'" +
                     did_you_mean(name, std::vector<std::string_view>(names.begin(), names.end())) + " in " + folder +
                     "; quorate reproduce list names them");
  }
  Json out = Json::parse(read_file(file), nullptr, false);
  if (!out.is_object() || !out.contains("groups")) throw DataError(file.string() + ": expected a JSON object with groups");
  return out;
}

std::vector<std::string> names_of_papers(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw FileError(folder +
                    ": no such folder here; run it in a checkout of quorate, or name the folder with --papers FOLDER");
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

Json list_papers(const std::string& folder) {
  Json out = Json::array();
  for (const std::string& name : names_of_papers(folder))
    out.push_back({{"name", name}, {"title", read_paper(folder, name).value("title", "")}});
  return out;
}

std::string fixed(double v, int digits) {
  char out[32];
  std::snprintf(out, sizeof out, "%.*f", digits, v);
  return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += between;
    out += part;
  }
  return out;
}

}  // namespace quorate::papers
