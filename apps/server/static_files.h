// Files of the page, embedded in the program (cmake/embed.cmake) and served with validation and compression.
#pragma once
#include <span>
#include <string_view>

#include "server/router.h"

namespace quorate::server {

/// A file; the texts outlive every use.
struct Asset {
  std::string_view path;   ///< of the URL, "/" or "/app.js"
  std::string_view type;   ///< Content-Type
  std::string_view bytes;  ///< not compressed
  std::string_view etag;   ///< without quotes; another one for other bytes
};

/// Adds a GET route for every asset. Each is compressed here, once (about 20 ms a MB), and sent so to clients that accept
/// gzip, if that is shorter. Clients keep a copy and revalidate it: If-None-Match is answered by 304.
void add_assets(Router& router, std::span<const Asset> assets);

}  // namespace quorate::server
