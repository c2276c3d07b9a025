#pragma once
#include "quorate/base/error.h"

namespace quorate::server {

/// A server or a broker cannot be reached, or its reply does not arrive: trying again may help.
struct Unreachable : Error {
  using Error::Error;
};

}  // namespace quorate::server
