// SPDX-License-Identifier: MIT
#include "base/hash.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Hash, AgreesWithTheReferenceOnTheEmptyText) {
  EXPECT_EQ(hash_of(std::string_view()),
            "99aa06d3014798d86001c324468d497f");  // xxHash: XXH3 128 bits, seed 0, empty
}

TEST(Hash, IsTheSameInPiecesAndAtOnce) {
  Hasher hasher;
  hasher.update("abc");
  hasher.update(std::string_view("def"));
  EXPECT_EQ(hasher.hex(), hash_of("abcdef"));
}

TEST(Hash, TakesNumbersLittleEndian) {
  Hasher number;
  number.update(std::uint64_t{0x0102030405060708});
  EXPECT_EQ(number.hex(), hash_of("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST(Hash, IsRecognisedByItsThirtyTwoLowerCaseDigits) {
  EXPECT_TRUE(is_hash("99aa06d3014798d86001c324468d497f"));
  EXPECT_FALSE(is_hash("99AA06d3014798d86001c324468d497f"));
  EXPECT_FALSE(is_hash("99aa06d3014798d86001c324468d497"));
  EXPECT_FALSE(is_hash("../.06d3014798d86001c324468d497f"));
}

}  // namespace
}  // namespace gangway
