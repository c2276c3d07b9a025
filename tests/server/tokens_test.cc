#include "server/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "quorate/base/error.h"
#include "quorate/store/files.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

/// A clock that stands until it is set.
struct TokenClock {
  std::chrono::steady_clock::time_point now;
  Tokens::Clock get() {
    return [this] { return now; };
  }
};

TEST(Tokens, AreFoundByTheirTextAloneAndNotStored) {
  const test::TempDir dir;
  Tokens tokens(dir.at("tokens.json"));
  EXPECT_FALSE(tokens.exist());
  const std::string ann = tokens.add(Role::kAnnotator, "ann"), data = tokens.add(Role::kData, "pipeline");
  EXPECT_TRUE(tokens.exist());
  EXPECT_NE(ann, data);
  EXPECT_EQ(tokens.find(ann).value().name, "ann");
  EXPECT_EQ(tokens.find(ann).value().role, Role::kAnnotator);
  EXPECT_EQ(tokens.find(data).value().role, Role::kData);
  EXPECT_FALSE(tokens.find(ann + "0"));
  EXPECT_FALSE(tokens.find(""));
  const std::string file = read_file(dir.at("tokens.json"));
  EXPECT_EQ(file.find(ann.substr(ann.size() - 64)), std::string::npos);
  EXPECT_FALSE(tokens.find(file.substr(file.find("sha256") + 10, 64)));  // a stolen file opens nothing
  struct stat status {};
  ASSERT_EQ(stat(dir.at("tokens.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Tokens, ARevokedOneIsRefusedByAServerAtWork) {
  const test::TempDir dir;
  Tokens owner(dir.at("tokens.json"));
  const std::string ann = owner.add(Role::kAnnotator, "ann"), bo = owner.add(Role::kAnnotator, "bo");
  TokenClock clock;
  const Tokens server(dir.at("tokens.json"), clock.get());
  EXPECT_TRUE(server.find(ann));
  owner.revoke("ann");
  EXPECT_FALSE(owner.find(ann));
  clock.now += std::chrono::seconds(1);
  EXPECT_FALSE(server.find(ann));
  EXPECT_TRUE(server.find(bo));
  EXPECT_THROW(owner.revoke("ann"), UsageError);
}

TEST(Tokens, OneForEachName) {
  const test::TempDir dir;
  Tokens tokens(dir.at("tokens.json"));
  tokens.add(Role::kOwner, "eva");
  EXPECT_THROW(tokens.add(Role::kData, "eva"), UsageError);
  EXPECT_THROW(tokens.add(Role::kData, ""), UsageError);
  EXPECT_THROW(tokens.add(Role::kData, std::string(101, 'a')), UsageError);
  ASSERT_EQ(tokens.list().size(), 1U);
  EXPECT_EQ(tokens.list()[0].name, "eva");
}

TEST(Tokens, AFileThatDisappearsOrIsDamagedOpensNothing) {
  const test::TempDir dir;
  Tokens owner(dir.at("tokens.json"));
  const std::string ann = owner.add(Role::kAnnotator, "ann");
  TokenClock clock;
  const Tokens removed(dir.at("tokens.json"), clock.get());
  ASSERT_EQ(unlink(dir.at("tokens.json").c_str()), 0);
  clock.now += std::chrono::seconds(1);
  EXPECT_TRUE(removed.exist());
  EXPECT_FALSE(removed.find(ann));
  for (const char* text :
       {"", "[]", "{\"tokens\":[{}]}", "{\"tokens\":[{\"name\":\"a\",\"role\":\"king\",\"sha256\":\"\"}]}"}) {
    dir.write("tokens.json", text);
    EXPECT_THROW(Tokens(dir.at("tokens.json")), DataError) << text;
  }
}

}  // namespace
}  // namespace quorate::server
