// What can go wrong, by whose fault it is. The library throws; it never prints or exits.
#pragma once
#include <stdexcept>

namespace quorate {

/// Base of every error this library throws. what() is one line, with the value at fault and what was expected.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
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

/// A file cannot be opened, read, written or renamed.
struct FileError : Error {
  using Error::Error;
};

}  // namespace quorate
