// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/model/commands.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;

TEST(Seeds, AreListsOfNumbersAndRanges) {
  EXPECT_THAT(parse_seeds("7"), ElementsAre(7));
  EXPECT_THAT(parse_seeds("2-5"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(parse_seeds("9,1-3,1"), ElementsAre(9, 1, 2, 3, 1));
  EXPECT_EQ(parse_seeds("0-63").size(), 64U);
}

TEST(Seeds, GoUpToTheLargestNumberOf64Bits) {
  EXPECT_THAT(parse_seeds("18446744073709551614-18446744073709551615"),
              ElementsAre(18446744073709551614ULL, 18446744073709551615ULL));
}

TEST(Seeds, RefuseWhatIsNoListOfSeeds) {
  for (const char* text :
       {"", ",", "1,", "a", "1-", "-1", "5-2", "1 - 2", "0x10", "18446744073709551616", "1.5"}) {
    EXPECT_THROW(static_cast<void>(parse_seeds(text)), ConfigError) << text;
  }
}

TEST(Seeds, NameTheOptionThatIsWrong) {
  try {
    (void)parse_seeds("3,x", "--interpolate");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("--interpolate 3,x: 'x' is not a number"));
  }
}

TEST(Seeds, RefuseMorePicturesThanFitAGrid) {
  EXPECT_EQ(parse_seeds("0-65535").size(), 65'536U);
  EXPECT_THROW(static_cast<void>(parse_seeds("0-65536")), ConfigError);
  EXPECT_THROW(static_cast<void>(parse_seeds("0-65535,1")), ConfigError);
  EXPECT_THROW(static_cast<void>(parse_seeds("0-18446744073709551615")), ConfigError);
}

}  // namespace
}  // namespace gangway::launch
