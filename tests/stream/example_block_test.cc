#include "quorate/stream/example_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quorate/base/error.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

/// Three examples: all parts there; nothing at all; features only.
ExampleBlock three() {
  ExampleBlock block;
  Record record;
  record.id = "id";
  record.task = "task";
  record.label = "1";
  record.seconds = 0.5;
  const std::vector<Index> index{3, 9};
  const std::vector<double> value{0.6, 0.8};
  block.add(record, {index, value, 2}, {1, 10, 0});
  record.clear();
  block.add(record, {}, {2, 20, 0});
  block.add(record, {{}, value}, {5, 50, 2});
  block.end = {6, 60, 2};
  block.first_skipped = "a.svm:3: bad";
  return block;
}

void expect_same(const ExampleBlock& a, const ExampleBlock& b) {
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t n = 0; n < a.rows.size(); ++n) {
    EXPECT_EQ(a.id(n), b.id(n));
    EXPECT_EQ(a.task(n), b.task(n));
    EXPECT_EQ(a.label(n), b.label(n));
    EXPECT_EQ(std::isnan(a.rows[n].time), std::isnan(b.rows[n].time));
    EXPECT_EQ(a.x(n).norm, b.x(n).norm);
    EXPECT_EQ(a.rows[n].at.line, b.rows[n].at.line);
  }
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.first_skipped, b.first_skipped);
  EXPECT_EQ(a.end.consumed, b.end.consumed);
  EXPECT_EQ(a.last, b.last);
}

TEST(ExampleBlock, HoldsWhatWasAdded) {
  const ExampleBlock block = three();
  EXPECT_EQ(block.id(0), "id");
  EXPECT_EQ(block.task(0), "task");
  EXPECT_EQ(block.label(0), "1");
  EXPECT_EQ(block.rows[0].time, 0.5);
  EXPECT_EQ(block.x(0).index[1], 9u);
  EXPECT_EQ(block.x(0).norm, 2);
  EXPECT_EQ(block.id(1), "");
  EXPECT_EQ(block.task(1), "");
  EXPECT_TRUE(std::isnan(block.rows[1].time));
  EXPECT_EQ(block.x(1).size(), 0u);
  EXPECT_EQ(block.x(2).value[1], 0.8);
  EXPECT_EQ(block.rows[2].at.skipped, 2u);
}

TEST(BlockCache, ReadsBackWhatWasWritten) {
  const TempDir dir;
  ExampleBlock first = three(), last;
  last.last = true;
  {
    BlockCache cache(dir.at("a/b"), "key");
    EXPECT_FALSE(cache.made());
    cache.write(first);
    EXPECT_FALSE(BlockCache(dir.at("a/b"), "key").made()) << "its last block is still to come";
    cache.write(last);
  }
  BlockCache cache(dir.at("a/b"), "key");
  ASSERT_TRUE(cache.made());
  ExampleBlock found;
  cache.read(found);
  expect_same(found, first);
  cache.read(found);
  expect_same(found, last);
  EXPECT_THROW(cache.read(found), FileError) << "there is no more";
  EXPECT_FALSE(BlockCache(dir.at("a/b"), "another key").made());
}

TEST(BlockCache, OfOtherDataUnderTheSameNameIsRefused) {
  const TempDir dir;
  ExampleBlock last;
  last.last = true;
  BlockCache(dir.path(), "key").write(last);
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    dir.write(entry.path().filename().string(), "quorate instances, format 1: something else\n");
  EXPECT_THROW(BlockCache(dir.path(), "key"), FileError);
}

}  // namespace
}  // namespace quorate::test
