// SPDX-License-Identifier: MIT
#include "bench/allreduce/figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::bench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Sizes, AreReadInPowersOfTwo) {
  EXPECT_EQ(parse_size("16K"), 16384U);
  EXPECT_EQ(parse_size("4M"), 4194304U);
  EXPECT_EQ(parse_size("1G"), 1073741824U);
  EXPECT_EQ(parse_size("32768"), 32768U);
}

TEST(Sizes, RefuseWhatIsNoneOrCutsABlock) {
  for (const char* text :
       {"", "0", "M", "-4M", "4MB", "4.5M", "1000", "99999999999999999999", "999999999999G"}) {
    EXPECT_THROW((void)parse_size(text), ConfigError) << text;
  }
}

TEST(Samples, KnowMedianAndMinimum) {
  EXPECT_EQ((Samples{{3.0, 1.0, 2.0}}).median(), 2.0);
  EXPECT_EQ((Samples{{4.0, 1.0, 2.0, 3.0}}).median(), 2.5);
  EXPECT_EQ((Samples{{3.0, 1.0, 2.0}}).minimum(), 1.0);
}

TEST(BusBandwidth, CountsWhatEachWorkerMustMove) {
  EXPECT_DOUBLE_EQ(bus_bandwidth(2, 1000, 0.5), 2000.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth(4, 1000, 0.5), 3000.0);
  EXPECT_EQ(bus_bandwidth(1, 1000, 0.5), 0.0);
}

TEST(MemoryFloor, IsThePartOfTheCopyThatAReductionCannotSpare) {
  EXPECT_DOUBLE_EQ(memory_floor(2, 4.0),
                   3.0);  // reads one size and writes half a size; the copy moved two sizes
  EXPECT_DOUBLE_EQ(memory_floor(4, 4.0), 2.5);
}

TEST(Table, ComparesEachRowWithTheRivalOfItsSize) {
  const std::string text = table_text(
      {.num_workers = 2, .rival = "theirs", .sizes = {1U << 20U, 16384}, .floors = {0.001, 0.0}},
      {{"ours", 1U << 20U, {{0.002}}},
       {"theirs", 1U << 20U, {{0.006}}},
       {"ours", 16384, {{0.001}}}});
  EXPECT_THAT(text, ContainsRegex("1M +ours +2.000 +2.000 +0.52 +3.00 +1.000 +50 %"));
  EXPECT_THAT(text, ContainsRegex("1M +theirs +6.000 +6.000 +0.17 +1.00 +1.000 +17 %"));
  EXPECT_THAT(text, ContainsRegex("16K +ours +1.000 +1.000 +0.02 +- +- +-"));
}

TEST(FiguresJson, HasARowEach) {
  EXPECT_EQ(figures_json(2, {{"shm", 1U << 20U, {{0.5, 0.25, 0.75}}}}),
            "{\"workers\":2,\"rows\":[{\"row\":\"shm\",\"bytes\":1048576,"
            "\"median_seconds\":0.5,\"bytes_per_second\":2097152}]}\n");
}

}  // namespace
}  // namespace gangway::bench
