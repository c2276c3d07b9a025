// What can go wrong, by whose fault it is. The library throws; it never prints or exits.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace quorate {

/// `text` on one line: control characters as \n, \t or \x07.
std::string one_line(std::string_view text);

/// A value for a message: in single quotes, cut after 60 bytes, never inside a character.
std::string quoted_value(std::string_view value);

/// Base of every error this library throws. what() is one line, with the value at fault and what was expected.
struct Error : std::runtime_error {
  explicit Error(std::string_view what) : std::runtime_error(one_line(what)) {}
};

/// The data or a model file says something that cannot be used.
struct DataError : Error {
  using Error::Error;
};

/// One line of the data is bad; reading can go on after it (`--on-error skip`).
struct LineError : DataError {
  using DataError::DataError;
};

/// The caller asked for something that does not exist or is out of range.
struct UsageError : Error {
  using Error::Error;
};

/// The memory given does not hold what has to be kept.
struct MemoryError : Error {
  using Error::Error;
};

/// A file cannot be opened, read, written or renamed.
struct FileError : Error {
  using Error::Error;
};

}  // namespace quorate
