// The name that a mistyped word may stand for, for error messages.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quorate {

/// Damerau-Levenshtein distance: the least number of bytes inserted, removed, replaced or swapped with their neighbour that
/// makes one text of the other, where no byte is changed twice. ASCII letters of either case are equal. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The shortest name that begins with `word`, if that has three bytes or more; else the nearest, no further away than a
/// third of the word's length; of equals the first; else "". A word longer than 200 bytes is compared by its beginning
/// alone.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

/// " (did you mean NAME?)" with the nearest name, or "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);

}  // namespace quorate
