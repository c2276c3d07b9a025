// The files of a snapshot: snapshot-SEQUENCE.model, the model before record SEQUENCE of the journal, and .desk, all else,
// with the hashes of both. The .desk is written last, so a snapshot with both is whole.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quorate::server {

inline constexpr std::string_view kNoHash = "00000000000000000000000000000000";  ///< as long as one

std::string snapshot_name(const std::string& dir, std::uint64_t sequence);  ///< the path without its ending
/// Sequence numbers of the .desk files of a folder, the newest first.
std::vector<std::uint64_t> snapshots_of(const std::string& dir);
std::uint64_t snapshot_bytes_of(const std::string& dir);  ///< on disk, of all
void remove_snapshot(const std::string& dir, std::uint64_t sequence);

/// The first line of a .desk. journal: the hash of its header.
std::string snapshot_head(std::uint64_t sequence, std::string_view journal, std::string_view model_hash,
                          std::string_view state_hash);
/// Writes the files of a snapshot that another folder's service made. Throws FileError.
void write_snapshot(const std::string& dir, std::uint64_t sequence, std::string_view journal, std::string_view model,
                    std::string_view state);
/// Whether a .desk says that it was made from that journal. Throws FileError.
bool is_snapshot_of(const std::string& dir, std::uint64_t sequence, std::string_view journal);
/// The state that a .desk has. Throws DataError, also if it is of another journal or its .model is not the one that it
/// names; FileError.
std::string read_state(const std::string& dir, std::uint64_t sequence, std::string_view journal);

}  // namespace quorate::server
