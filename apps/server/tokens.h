// Who may do what: tokens, of which only hashes are stored.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quorate::server {

/// What a token allows: annotators answer questions under their own name, data sends examples and reads, a worker follows
/// the log and writes what it judged into it, the owner does everything.
enum class Role { kAnnotator, kData, kWorker, kOwner };
std::string_view to_text(Role role);
std::optional<Role> role_named(std::string_view name);

/// Whom a token belongs to.
struct Identity {
  Role role = Role::kOwner;
  std::string name;  ///< empty: anybody, on a server without tokens
};

/// A file of tokens, readable by its owner alone. Each is 256 random bits; the file has their SHA-256.
/// find() may be called from any thread; a change by another process is seen after a second at most.
class Tokens {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// Reads the file if there is one. Throws FileError, DataError.
  explicit Tokens(std::string path, Clock clock = std::chrono::steady_clock::now);

  /// Makes a token and stores its hash. Throws UsageError for a name that has one, is empty or longer than 100 bytes;
  /// FileError.
  std::string add(Role role, const std::string& name);
  /// Throws UsageError for an unknown name; FileError.
  void revoke(const std::string& name);
  std::vector<Identity> list() const;

  /// Whether there is a file: without one, everything is open.
  bool exist() const;
  /// Whom a token belongs to. If the file has become unreadable, no token is accepted.
  std::optional<Identity> find(std::string_view token) const;

 private:
  struct Row {
    Identity who;
    std::string hash;
  };
  void read() const;
  void write() const;
  void refresh() const;

  const std::string path_;
  const Clock clock_;
  mutable std::mutex mutex_;
  mutable std::vector<Row> rows_;
  mutable bool exist_ = false;
  mutable std::chrono::steady_clock::time_point looked_;
};

}  // namespace quorate::server
