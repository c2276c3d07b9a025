#include "server/static_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

namespace quorate::server {

std::span<const Asset> test_assets();  // made from tests/server/assets by cmake/embed.cmake

namespace {

const Asset& asset(std::string_view path) {
  for (const auto& each : test_assets())
    if (each.path == path) return each;
  throw std::out_of_range(std::string(path));
}

std::string unpacked(const std::string& bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("not gzip");
  return text;
}

Response get(const std::string& path, const std::string& accept_encoding = {}, const std::string& if_none_match = {}) {
  Router router;
  add_assets(router, test_assets());
  Request request;
  request.method = "GET";
  request.path = path;
  if (!accept_encoding.empty()) request.headers.emplace_back("accept-encoding", accept_encoding);
  if (!if_none_match.empty()) request.headers.emplace_back("if-none-match", if_none_match);
  Response answer;
  router(std::move(request), Respond([&](Response response) { answer = std::move(response); }));
  return answer;
}

std::string header(const Response& response, const std::string& name) {
  for (const auto& [each, value] : response.headers)
    if (each == name) return value;
  return {};
}

TEST(Embedding, GivesEveryFileItsPathTypeAndBytes) {
  std::set<std::string_view> paths, tags;
  for (const auto& each : test_assets()) {
    paths.insert(each.path);
    tags.insert(each.etag);
  }
  EXPECT_EQ(paths, (std::set<std::string_view>{"/", "/team", "/sub/app.js", "/empty.txt", "/bytes.png"}));
  EXPECT_EQ(tags.size(), paths.size()) << "other bytes have another tag";
  EXPECT_EQ(asset("/").type, "text/html; charset=utf-8");
  EXPECT_EQ(asset("/sub/app.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(asset("/sub/app.js").bytes, "export const answer = 42; // \"quoted\" \\ back\n");
  EXPECT_EQ(asset("/empty.txt").bytes, "");
  const auto bytes = asset("/bytes.png").bytes;
  ASSERT_EQ(bytes.size(), 256U);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(static_cast<unsigned char>(bytes[i]), i);
}

TEST(StaticFiles, AreCompressedForClientsThatAcceptIt) {
  const auto plain = get("/");
  EXPECT_EQ(plain.content(), asset("/").bytes);
  EXPECT_EQ(header(plain, "Vary"), "Accept-Encoding");
  EXPECT_EQ(plain.cache_control, "no-cache");
  for (const auto* accepts : {"gzip", "br, GZIP;q=0.5", "*", "deflate, *;q=0.1"}) {
    const auto packed = get("/", accepts);
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip") << accepts;
    EXPECT_LT(packed.content().size(), asset("/").bytes.size());
    EXPECT_EQ(unpacked(std::string(packed.content())), asset("/").bytes);
    EXPECT_NE(header(packed, "ETag"), header(plain, "ETag"));
  }
  for (const auto* accepts : {"identity", "gzip;q=0", "gzip; q=0.0, br", "*;q=0", "br"})
    EXPECT_EQ(header(get("/", accepts), "Content-Encoding"), "") << accepts;
  EXPECT_EQ(header(get("/bytes.png", "gzip"), "Content-Encoding"), "") << "compression gains nothing";
  EXPECT_EQ(get("/empty.txt", "gzip").content(), "");
}

TEST(StaticFiles, AreNotSentAgainToAClientThatHasThem) {
  const auto tag = header(get("/"), "ETag"), packed = header(get("/", "gzip"), "ETag");
  for (const auto& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const auto answer = get("/", "", known);
    EXPECT_EQ(answer.status, 304) << known;
    EXPECT_EQ(answer.content(), "");
    EXPECT_EQ(header(answer, "ETag"), tag);
  }
  EXPECT_EQ(get("/", "gzip", packed).status, 304);
  EXPECT_EQ(get("/", "", packed).status, 200) << "the other encoding";
  EXPECT_EQ(get("/", "", "\"other\"").status, 200);
}

}  // namespace
}  // namespace quorate::server
