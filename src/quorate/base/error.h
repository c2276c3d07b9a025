// Errors, classified by their cause. The library throws; it never prints or exits.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace quorate {

/// `text` on one line: control characters as \n, \t or \x07.
std::string one_line(std::string_view text);

/// A value for a message: cut after 60 bytes but never inside a character.
std::string shown_value(std::string_view value);
/// The same in single quotes.
std::string quoted_value(std::string_view value);

/// Base of every error of this library. what() is one line with the value at fault and the expected one.
struct Error : std::runtime_error {
  explicit Error(std::string_view what) : std::runtime_error(one_line(what)) {}
};

/// Invalid data, or an invalid model file.
struct DataError : Error {
  using Error::Error;
};

/// One invalid line of data; reading can continue after it (`--on-error skip`).
struct LineError : DataError {
  using DataError::DataError;
};

/// The caller named something that does not exist or a value out of range.
struct UsageError : Error {
  using Error::Error;
};

/// The memory limit does not suffice.
struct MemoryError : Error {
  using Error::Error;
};

/// A file cannot be opened, read, written or renamed.
struct FileError : Error {
  using Error::Error;
};

}  // namespace quorate
