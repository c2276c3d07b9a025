#pragma once
#include "quorate/base/error.h"

namespace quorate::server {

/// A server or a broker cannot be reached, or its reply does not arrive: trying again may help.
struct Unreachable : Error {
  using Error::Error;
};

/// What answers is not what the address says: TLS, or whose certificate. At the first try, trying again does not help.
struct WrongPeer : Unreachable {
  using Unreachable::Unreachable;
};

}  // namespace quorate::server
