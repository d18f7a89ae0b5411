// SPDX-License-Identifier: MIT
#include "base/text/utf8.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Utf8, AcceptsEveryLengthOfCharacter) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xED\x9F\xBF\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF"),
            std::nullopt);
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("ab\xFF"), 2U);            // no lead byte
  EXPECT_EQ(find_invalid_utf8("\x80"), 0U);              // continuation without lead
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0U);          // overlong, two bytes
  EXPECT_EQ(find_invalid_utf8("\xE0\x80\xAF"), 0U);      // overlong, three bytes
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0U);      // surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("a\xE2\x82"), 1U);         // cut off
  EXPECT_EQ(find_invalid_utf8("\xE2\x82(("), 0U);        // third byte is no continuation
}

TEST(Utf8, ShowsControlCharactersAsQuestionMarks) {
  EXPECT_EQ(shown("a\x1B[2Jb\n\x7F\xC2\x9B"), "a?[2Jb???");
  EXPECT_EQ(shown("\xFFz\xC3\xA9"), "?z\xC3\xA9");
  EXPECT_EQ(plain("a\n\tb\x1B]52;c\a\r"), "a\n\tb?]52;c??");
  EXPECT_EQ(plain(std::string(100, 'a')), std::string(100, 'a'));
}

TEST(Utf8, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(shown(std::string(60, 'a')), std::string(60, 'a'));
  EXPECT_EQ(shown(std::string(59, 'a') + "\xC3\xA9"), std::string(59, 'a') + "...");
}

}  // namespace
}  // namespace gangway
