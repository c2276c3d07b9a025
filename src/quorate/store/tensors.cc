#include "quorate/store/tensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "quorate/base/hash.h"

namespace quorate {
namespace {

using Json = nlohmann::json;  // keys in alphabetical order, so the header has one spelling

constexpr std::string_view kChecksumKey = "\"checksum\":\"";
constexpr std::string_view kNoDigits = "00000000000000000000000000000000";
constexpr std::size_t kDigits = kNoDigits.size();
constexpr std::size_t kMaxHeader = 16'000'000, kPart = std::size_t{1} << 18;  // bytes

std::size_t element_size(const std::string& dtype) {
  if (dtype == "F64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "U32") return 4;
  if (dtype == "U8" || dtype == "I8") return 1;
  throw DataError("model file: unknown element type " + quoted_value(dtype));
}

/// Where the checksum's digits start in a header, which begins with its length.
std::size_t checksum_at(std::string_view header) {
  const std::size_t key = header.find(kChecksumKey, 8);
  if (key == header.npos || key + kChecksumKey.size() + kDigits > header.size())
    throw DataError("model file: no checksum in its header");
  return key + kChecksumKey.size();
}

/// The header with zeros for the checksum.
std::string header_of(const Tensors& tensors) {
  Json json = Json::object();
  json["__metadata__"] = tensors.metadata;
  json["__metadata__"]["format"] = "quorate";
  json["__metadata__"]["format_version"] = std::to_string(kFormatVersion);
  json["__metadata__"]["checksum"] = kNoDigits;
  std::uint64_t offset = 0;
  for (const auto& [name, t] : tensors.tensors) {
    json[name] = {{"dtype", t.dtype},
                  {"shape", {t.bytes.size() / element_size(t.dtype)}},
                  {"data_offsets", {offset, offset + t.bytes.size()}}};
    offset += t.bytes.size();
  }
  const std::string text = json.dump();
  const std::uint64_t length = (text.size() + 7) / 8 * 8;  // so that the data is aligned
  if (length > kMaxHeader)
    throw DataError("a model whose header has " + std::to_string(length) + " bytes; expected at most " +
                    std::to_string(kMaxHeader) + ": shorter names of the labels, or fewer parameters of the learner");
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  header += text;
  header.resize(8 + length, ' ');
  return header;
}

/// Calls use(bytes) for parts of the column, in order.
template <class Use>
void for_each_part(const Column<std::byte>& column, Use use) {
  std::vector<std::byte> part;
  for (std::size_t begin = 0; begin < column.size(); begin += part.size()) {
    part.resize(std::min(kPart, column.size() - begin));
    column.read(begin, part);
    use(std::string_view(reinterpret_cast<const char*>(part.data()), part.size()));
  }
}

/// Calls use(bytes) for the header and parts of the data of all tensors, in order; returns the checksum of all.
template <class Use>
std::string for_each_part(std::string_view header, const Tensors& tensors, Use use) {
  Hasher128 hasher;
  hasher.add(header);
  use(header);
  for (const auto& [name, t] : tensors.tensors)
    for_each_part(t.bytes, [&](std::string_view part) {
      hasher.add(part);
      use(part);
    });
  return hasher.hex();
}

/// Parses a header. Throws DataError if it is deeper, or has more values, than a header of a model. Both are checked before
/// parsing: a callback of the parser takes quadratic time, and a value 100 times the bytes of its text.
Json parse_header(std::string_view text) {
  constexpr int kDeepest = 3;             // the table of tensors, one of them, its shape
  constexpr std::size_t kMost = 100'000;  // values; a model has a few hundred
  int depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
    if (depth > kDeepest)
      throw DataError("model file: its header is nested deeper than " + std::to_string(kDeepest) + " levels");
    if (!quoted && (c == ',' || c == '{' || c == '[') && ++values > kMost)
      throw DataError("model file: its header has more than " + std::to_string(kMost) + " values");
  }
  return Json::parse(text, nullptr, false);
}

}  // namespace

std::string to_bytes(const Tensors& tensors) {
  const std::string header = header_of(tensors);
  std::size_t size = header.size();
  for (const auto& [name, t] : tensors.tensors) size += t.bytes.size();
  std::string out;
  out.reserve(size);
  const std::string digits = for_each_part(header, tensors, [&](std::string_view part) { out += part; });
  return out.replace(checksum_at(header), kDigits, digits);
}

void write_tensors(const Tensors& tensors, OutputFile& file) {
  std::string header = header_of(tensors);
  const std::string digits = for_each_part(header, tensors, [&](std::string_view part) { file.write(part); });
  file.write_at(checksum_at(header), digits);
}

Tensors from_bytes(std::string_view bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  return read_tensors(Column<std::byte>({all.begin(), all.end()}));
}

Tensors read_tensors(const Column<std::byte>& file) {
  const auto damaged = [](const std::string& why) { return DataError("model file: damaged: " + why); };
  std::uint64_t length = 0;
  if (file.size() < 8) throw DataError("model file: " + std::to_string(file.size()) + " bytes are too few");
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeader || length > file.size() - 8)
    throw DataError("model file: not a safetensors file, or truncated in its header");
  std::string head(8 + length, '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  const Column<std::byte> data = file.part(head.size(), file.size() - head.size());
  const Json header = parse_header(std::string_view(head).substr(8));
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
  const bool number = !version.empty() && version.size() < 9 &&
                      std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number || std::stoi(version) != kFormatVersion) {
    const bool newer = number && std::stoi(version) > kFormatVersion;
    throw DataError("model file: format version " + quoted_value(version) + (newer ? " is newer than" : "; expected") +
                    " version " + std::to_string(kFormatVersion) + (newer ? ", the newest this program reads" : ""));
  }
  const std::size_t at = checksum_at(head);
  const std::string digits = head.substr(at, kDigits);
  Hasher128 hasher;
  hasher.add(head.replace(at, kDigits, kNoDigits));
  for_each_part(data, [&](std::string_view part) { hasher.add(part); });
  if (hasher.hex() != digits) throw damaged("the checksum does not fit (truncated or changed)");

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
    out.tensors[name] = {info["dtype"].get<std::string>(), data.part(begin, end - begin)};
  }
  for (const char* key : {"format", "format_version", "checksum"}) out.metadata.erase(key);
  return out;
}

}  // namespace quorate
