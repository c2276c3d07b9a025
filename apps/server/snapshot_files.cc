#include "server/snapshot_files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "quorate/base/number.h"
#include "quorate/store/files.h"

namespace quorate::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // of .desk files

}  // namespace

std::string snapshot_name(const std::string& dir, std::uint64_t sequence) {
  std::string digits = std::to_string(sequence);
  if (digits.size() < 12) digits.insert(0, 12 - digits.size(), '0');
  return dir + "/snapshot-" + digits;
}

std::vector<std::uint64_t> snapshots_of(const std::string& dir) {
  std::vector<std::uint64_t> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(dir, none)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kBegin = "snapshot-", kEnd = ".desk";
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    const auto digits = std::string_view(name).substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
    if (const auto sequence = parse_number<std::uint64_t>(digits)) out.push_back(*sequence);
  }
  std::sort(out.begin(), out.end(), std::greater());
  return out;
}

std::string snapshot_head(std::uint64_t sequence, std::string_view journal, std::string_view model_hash,
                          std::string_view state_hash) {
  return Json{
             {"format", kFormat}, {"sequence", sequence}, {"journal", journal}, {"model", model_hash}, {"state", state_hash}}
             .dump() +
         "\n";
}

void write_snapshot(const std::string& dir, std::uint64_t sequence, std::string_view journal, std::string_view model,
                    std::string_view state) {
  OutputFile model_file(snapshot_name(dir, sequence) + ".model"), desk_file(snapshot_name(dir, sequence) + ".desk");
  model_file.write(model);
  model_file.commit();
  desk_file.write(snapshot_head(sequence, journal, hash128_hex(model), hash128_hex(state)));
  desk_file.write(state);
  desk_file.commit();
}

std::uint64_t snapshot_bytes_of(const std::string& dir) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error))
    if (entry.path().filename().string().starts_with("snapshot-")) {
      const auto size = entry.file_size(error);
      if (!error) bytes += size;
    }
  return bytes;
}

void remove_snapshot(const std::string& dir, std::uint64_t sequence) {
  std::error_code ignored;
  for (const char* ending : {".desk", ".model"}) std::filesystem::remove(snapshot_name(dir, sequence) + ending, ignored);
}

bool is_snapshot_of(const std::string& dir, std::uint64_t sequence, std::string_view journal) {
  const std::string text = read_file(snapshot_name(dir, sequence) + ".desk");
  const Json head = Json::parse(std::string_view(text).substr(0, text.find('\n')), nullptr, false);
  return head.is_object() && head.value("journal", Json()) == journal;
}

std::string read_state(const std::string& dir, std::uint64_t sequence, std::string_view journal) {
  const std::string name = snapshot_name(dir, sequence);
  std::string text = read_file(name + ".desk");
  const auto end = std::min(text.find('\n'), text.size());
  const Json head = Json::parse(std::string_view(text).substr(0, end), nullptr, false);
  const auto is = [&](const char* key, const Json& value) { return head.is_object() && head.value(key, Json()) == value; };
  if (!is("format", kFormat))
    throw DataError(name + ".desk: its first line is no header of format " + std::to_string(kFormat));
  if (!is("journal", journal)) throw DataError(name + ".desk: was made from another journal than this folder's");
  text.erase(0, end + 1);
  if (!is("sequence", sequence) || !is("state", hash128_hex(text)))
    throw DataError(name + ".desk: its bytes are not those that were written");
  if (!is("model", hash_of_file(name + ".model")))
    throw DataError(name + ".model: its bytes are not those that " + name + ".desk names");
  return text;
}

}  // namespace quorate::server
