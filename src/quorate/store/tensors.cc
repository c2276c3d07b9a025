#include "quorate/store/tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "quorate/base/hash.h"

namespace quorate {
namespace {

using Json = nlohmann::json;  // keys in alphabetical order, so the header has one spelling

constexpr std::string_view kChecksumKey = "\"checksum\":\"";
constexpr std::string_view kNoDigits = "00000000000000000000000000000000";
constexpr std::size_t kDigits = kNoDigits.size(), kMaxHeader = 100'000'000;

std::size_t element_size(const std::string& dtype) {
  if (dtype == "F64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "U32") return 4;
  if (dtype == "U8" || dtype == "I8") return 1;
  throw DataError("model file: unknown element type " + quoted_value(dtype));
}

/// Where the checksum's digits start, in a file whose header ends at `header_end`.
std::size_t checksum_at(std::string_view bytes, std::size_t header_end) {
  const std::size_t key = bytes.substr(0, header_end).find(kChecksumKey, 8);
  if (key == bytes.npos || key + kChecksumKey.size() + kDigits > header_end)
    throw DataError("model file: no checksum in its header");
  return key + kChecksumKey.size();
}

}  // namespace

std::vector<std::string_view> to_parts(const Tensors& tensors, std::string& header) {
  Json json = Json::object();
  json["__metadata__"] = tensors.metadata;
  json["__metadata__"]["format"] = "quorate";
  json["__metadata__"]["format_version"] = std::to_string(kFormatVersion);
  json["__metadata__"]["checksum"] = kNoDigits;
  std::uint64_t offset = 0;
  std::vector<std::string_view> parts{{}};
  for (const auto& [name, t] : tensors.tensors) {
    json[name] = {{"dtype", t.dtype},
                  {"shape", {t.bytes.size() / element_size(t.dtype)}},
                  {"data_offsets", {offset, offset + t.bytes.size()}}};
    offset += t.bytes.size();
    parts.emplace_back(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  }
  const std::string text = json.dump();
  const std::uint64_t length = (text.size() + 7) / 8 * 8;  // so that the data is aligned
  header.assign(8, '\0');
  std::memcpy(header.data(), &length, 8);
  header += text;
  header.resize(8 + length, ' ');
  parts[0] = header;
  header.replace(checksum_at(header, header.size()), kDigits, hash128_hex(parts));
  return parts;
}

std::string to_bytes(const Tensors& tensors) {
  std::string header, out;
  const auto parts = to_parts(tensors, header);
  out.reserve(
      std::accumulate(parts.begin(), parts.end(), std::size_t{0}, [](auto sum, auto part) { return sum + part.size(); }));
  for (const std::string_view part : parts) out += part;
  return out;
}

Tensors from_bytes(std::string_view bytes) {
  const auto damaged = [](const std::string& why) { return DataError("model file: damaged: " + why); };
  std::uint64_t length = 0;
  if (bytes.size() < 8) throw DataError("model file: " + std::to_string(bytes.size()) + " bytes are too few");
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeader || length > bytes.size() - 8)
    throw DataError("model file: not a safetensors file, or truncated in its header");
  const std::string_view text = bytes.substr(8, length), data = bytes.substr(8 + length);
  const Json header = Json::parse(text, nullptr, false);
  const auto is_text_table = [](const Json& j) {
    return j.is_object() && std::all_of(j.begin(), j.end(), [](const Json& v) { return v.is_string(); });
  };
  if (!header.is_object()) throw DataError("model file: its header is not a JSON object");
  if (!header.contains("__metadata__") || !is_text_table(header["__metadata__"]) ||
      header["__metadata__"].value("format", "") != "quorate")
    throw DataError("model file: not written by quorate");

  Tensors out;
  out.metadata = header["__metadata__"].get<std::map<std::string, std::string>>();
  const std::string version = out.metadata["format_version"];
  if (version != std::to_string(kFormatVersion)) {
    const bool newer = !version.empty() && version.size() < 9 &&
                       std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                       std::stoi(version) > kFormatVersion;
    throw DataError("model file: format version " + quoted_value(version) + (newer ? " is newer than" : "; expected") +
                    " version " + std::to_string(kFormatVersion) +
                    (newer ? ", the newest this program reads" : ": a model of an older program has to be trained anew"));
  }
  const std::size_t at = checksum_at(bytes, 8 + length);
  if (hash128_hex(std::array{bytes.substr(0, at), kNoDigits, bytes.substr(at + kDigits)}) != bytes.substr(at, kDigits))
    throw damaged("the checksum does not fit (truncated or changed)");

  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, info] : header.items()) {
    if (name == "__metadata__") continue;
    const auto natural = [](const Json& j) { return j.is_number_unsigned(); };
    if (!info.is_object() || info.size() != 3 || !info.contains("dtype") || !info["dtype"].is_string() ||
        !info.contains("shape") || !info["shape"].is_array() || info["shape"].size() != 1 || !natural(info["shape"][0]) ||
        !info.contains("data_offsets") || !info["data_offsets"].is_array() || info["data_offsets"].size() != 2 ||
        !natural(info["data_offsets"][0]) || !natural(info["data_offsets"][1]))
      throw damaged("tensor '" + name + "' is not described as dtype, shape [n] and data_offsets");
    const auto type = info["dtype"].get<std::string>();
    const auto count = info["shape"][0].get<std::uint64_t>(), begin = info["data_offsets"][0].get<std::uint64_t>(),
               end = info["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > data.size() || (end - begin) % element_size(type) != 0 ||
        (end - begin) / element_size(type) != count)
      throw damaged("tensor '" + name + "' does not fit its offsets");
    ranges.emplace_back(begin, end);
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) throw damaged("tensors overlap or leave a gap");
    covered = end;
  }
  if (covered != data.size()) throw damaged("bytes after the last tensor");

  for (const auto& [name, info] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = info["data_offsets"][0].get<std::uint64_t>(), end = info["data_offsets"][1].get<std::uint64_t>();
    const auto* first = reinterpret_cast<const std::byte*>(data.data());
    out.tensors[name] = {info["dtype"].get<std::string>(), {first + begin, first + end}};
  }
  for (const char* key : {"format", "format_version", "checksum"}) out.metadata.erase(key);
  return out;
}

}  // namespace quorate
