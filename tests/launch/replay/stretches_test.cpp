// SPDX-License-Identifier: MIT
#include "launch/replay/stretches.hpp"

#include <array>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::array<std::int64_t, 4> kSaved{20, 40, 60, 80};

std::string complaint(std::span<const std::int64_t> steps, std::optional<std::int64_t> from,
                      std::optional<std::int64_t> to) {
  try {
    (void)stretches_between(steps, from, to);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Stretches, GoFromEachCheckpointToTheNext) {
  EXPECT_THAT(stretches_between(kSaved, {}, {}),
              ElementsAre(Stretch{20, 40}, Stretch{40, 60}, Stretch{60, 80}));
  EXPECT_THAT(stretches_between(kSaved, 40, 60), ElementsAre(Stretch{40, 60}));
}

TEST(Stretches, BeginWithTheJobWhereThatIsAskedFor) {
  EXPECT_THAT(stretches_between(kSaved, 0, 40), ElementsAre(Stretch{0, 20}, Stretch{20, 40}));
  EXPECT_THAT(stretches_between(std::span(kSaved).first(1), 0, {}), ElementsAre(Stretch{0, 20}));
}

TEST(Stretches, EndOnlyWhereThereIsSomethingToCompareWith) {
  EXPECT_THAT(complaint(kSaved, 30, {}), HasSubstr("--from 30: there is no sound checkpoint"));
  EXPECT_THAT(complaint(kSaved, {}, 90), HasSubstr("--to 90: there is no sound checkpoint"));
  EXPECT_THAT(complaint(kSaved, 60, 60), HasSubstr("a replay goes forward"));
  EXPECT_THAT(complaint(kSaved, 60, 20), HasSubstr("a replay goes forward"));
  EXPECT_THAT(complaint({}, {}, {}), HasSubstr("no sound checkpoint"));
  EXPECT_THAT(complaint(std::span(kSaved).first(1), {}, {}), HasSubstr("--from 0"));
}

TEST(DrawnStretches, AreSomeOfThemInTheirOrderAndTheSameOfOneSeed) {
  const std::vector<Stretch> all = stretches_between(kSaved, 0, {});
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const std::vector<Stretch> drawn = drawn_stretches(all, 2, seed);
    EXPECT_THAT(drawn, SizeIs(2));
    EXPECT_LT(drawn.front().to, drawn.back().to);
    EXPECT_EQ(drawn, drawn_stretches(all, 2, seed));
    seen.insert({drawn.front().to, drawn.back().to});
  }
  EXPECT_THAT(seen, SizeIs(4)) << "each has its turn";
  EXPECT_EQ(drawn_stretches(all, 9, 0), all);
}

}  // namespace
}  // namespace gangway::launch
