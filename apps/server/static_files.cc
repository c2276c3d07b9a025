#include "server/static_files.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace quorate::server {
namespace {

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int kWindowBits = 15, kGzip = 16, kMemoryLevel = 9;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kWindowBits + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::logic_error("zlib's bound of the compressed size is too small");
  return packed;
}

/// Whether Accept-Encoding allows gzip: named, or covered by *, and not with q=0.
bool accepts_gzip(std::string_view accept_encoding) {
  bool by_star = false;
  for (const auto element : list_elements(accept_encoding)) {
    const auto name = lower_case(element.substr(0, element.find_first_of("; \t")));
    auto weight = element.substr(std::min(element.size(), element.find("q=")));
    const bool refused = !weight.empty() && weight.find_first_of("123456789") == std::string_view::npos;
    if (name == "gzip" || name == "x-gzip") return !refused;
    if (name == "*") by_star = !refused;
  }
  return by_star;
}

bool has_tag(std::string_view if_none_match, std::string_view tag) {
  const auto elements = list_elements(if_none_match);
  return std::any_of(elements.begin(), elements.end(), [&](std::string_view element) {
    if (element.starts_with("W/")) element.remove_prefix(2);
    return element == "*" || element == tag;
  });
}

/// An asset in one encoding.
struct Variant {
  std::shared_ptr<const std::string> bytes;
  std::string tag;
};

struct File {
  std::string type;
  Variant plain, packed;  ///< `packed` has no bytes if compression gains nothing

  void operator()(const Request& request, Respond respond) const {
    const bool compress = packed.bytes && accepts_gzip(request.header("accept-encoding"));
    const Variant& variant = compress ? packed : plain;
    Response response;
    response.cache_control = "no-cache";
    response.headers.emplace_back("ETag", variant.tag);
    if (packed.bytes) response.headers.emplace_back("Vary", "Accept-Encoding");
    if (has_tag(request.header("if-none-match"), variant.tag)) {
      response.status = 304;
      response.type.clear();
    } else {
      response.type = type;
      response.shared = variant.bytes;
      if (compress) response.headers.emplace_back("Content-Encoding", "gzip");
    }
    respond(std::move(response));
  }
};

}  // namespace

void add_assets(Router& router, std::span<const Asset> assets) {
  for (const Asset& asset : assets) {
    const std::string tag(asset.etag);
    auto file = std::make_shared<File>();
    file->type = asset.type;
    file->plain = {std::make_shared<const std::string>(asset.bytes), "\"" + tag + "\""};
    if (auto packed = gzip(asset.bytes); packed.size() < asset.bytes.size())
      file->packed = {std::make_shared<const std::string>(std::move(packed)), "\"" + tag + "-gzip\""};
    router.add("GET", asset.path, [file = std::shared_ptr<const File>(file)](const Request& request, Respond respond) {
      (*file)(request, std::move(respond));
    });
  }
}

}  // namespace quorate::server
