#include "server/tokens.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "quorate/base/error.h"
#include "quorate/journal/reader.h"
#include "quorate/store/files.h"

namespace quorate::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kRoles{
    std::pair{Role::kAnnotator, std::string_view("annotator")}, std::pair{Role::kData, std::string_view("data")},
    std::pair{Role::kWorker, std::string_view("worker")}, std::pair{Role::kOwner, std::string_view("owner")}};
constexpr std::size_t kLongestName = 100, kTokenBytes = 32;
constexpr mode_t kMode = 0600;

std::string hex(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL has no SHA-256");
  return hex(digest, size);
}

}  // namespace

std::string_view to_text(Role role) {
  for (const auto& [one, name] : kRoles)
    if (one == role) return name;
  return {};
}

std::optional<Role> role_named(std::string_view name) {
  for (const auto& [role, word] : kRoles)
    if (word == name) return role;
  return std::nullopt;
}

Tokens::Tokens(std::string path, Clock clock) : path_(std::move(path)), clock_(std::move(clock)) { read(); }

void Tokens::read() const {
  std::error_code error;  // a link to nothing is an unreadable file, not a missing one
  exist_ = std::filesystem::exists(std::filesystem::symlink_status(path_, error));
  rows_.clear();
  looked_ = clock_();
  if (!exist_) return;
  const Json file = Json::parse(read_file(path_), nullptr, false);
  const auto damaged = [&] {
    return DataError(path_ + ": is no file of tokens; expected one as quorate serve token makes");
  };
  if (!file.is_object() || !file.contains("tokens") || !file["tokens"].is_array()) throw damaged();
  std::vector<Row> rows;
  for (const Json& row : file["tokens"]) {
    const auto text = [&](const char* key) {
      if (!row.is_object() || !row.contains(key) || !row[key].is_string()) throw damaged();
      return row[key].get<std::string>();
    };
    const auto role = role_named(text("role"));
    if (!role) throw damaged();
    rows.push_back({{*role, text("name")}, text("sha256")});
  }
  rows_ = std::move(rows);
}

void Tokens::write() const {
  Json rows = Json::array();
  for (const Row& row : rows_)
    rows.push_back({{"name", row.who.name}, {"role", to_text(row.who.role)}, {"sha256", row.hash}});
  const std::string text = Json{{"tokens", rows}}.dump(2) + "\n";
  // Not by OutputFile, whose temporary others could read.
  const std::string temporary = path_ + ".new";
  const auto failed = [&](const char* what) {
    const std::string why = std::strerror(errno);
    unlink(temporary.c_str());
    return FileError(path_ + ": cannot be " + what + ": " + why);
  };
  unlink(temporary.c_str());
  OpenFile file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) throw failed("created");
  for (std::string_view rest = text; !rest.empty();) {
    const auto n = ::write(file.get(), rest.data(), rest.size());
    if (n <= 0) throw failed("written");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(file.get()) != 0) throw failed("written");
  if (rename(temporary.c_str(), path_.c_str()) != 0) throw failed("replaced");
}

std::string Tokens::add(Role role, const std::string& name) {
  const FileLock lock(path_);
  const std::lock_guard guard(mutex_);
  read();
  if (name.empty() || name.size() > kLongestName)
    throw UsageError("--name " + quoted_value(name) + ": expected 1 to " + std::to_string(kLongestName) + " bytes");
  if (std::ranges::any_of(name, [](char c) { return (static_cast<unsigned char>(c) < 0x20 || c == 0x7F); }))
    throw UsageError("--name " + quoted_value(name) + ": expected a name without control characters");
  for (const Row& row : rows_)
    if (row.who.name == name)
      throw UsageError("--name " + quoted_value(name) + " has a token with the role " + std::string(to_text(row.who.role)) +
                       "; expected another name, or --revoke first");
  unsigned char bytes[kTokenBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) throw std::runtime_error("OpenSSL has no random bytes");
  std::string token = "quorate-" + std::string(to_text(role)) + "-" + hex(bytes, sizeof bytes);
  rows_.push_back({{role, name}, sha256(token)});
  write();
  return token;
}

void Tokens::revoke(const std::string& name) {
  const FileLock lock(path_);
  const std::lock_guard guard(mutex_);
  read();
  if (std::erase_if(rows_, [&](const Row& row) { return row.who.name == name; }) == 0)
    throw UsageError("--revoke " + quoted_value(name) + ": " + path_ + " has no token of that name; --list shows them");
  write();
}

std::vector<Identity> Tokens::list() const {
  const std::lock_guard guard(mutex_);
  refresh();
  std::vector<Identity> out;
  for (const Row& row : rows_) out.push_back(row.who);
  return out;
}

bool Tokens::exist() const {
  const std::lock_guard guard(mutex_);
  refresh();
  return exist_;
}

std::optional<Identity> Tokens::find(std::string_view token) const {
  const std::string hash = sha256(token);
  const std::lock_guard guard(mutex_);
  refresh();
  for (const Row& row : rows_)
    if (row.hash.size() == hash.size() && CRYPTO_memcmp(row.hash.data(), hash.data(), hash.size()) == 0) return row.who;
  return std::nullopt;
}

void Tokens::refresh() const {
  if (clock_() - looked_ < std::chrono::seconds(1)) return;
  const bool existed = exist_;
  try {
    read();
    exist_ |= existed;  // removing the file must not open a server
  } catch (const Error&) {
    exist_ = true;
    rows_.clear();
  }
}

}  // namespace quorate::server
