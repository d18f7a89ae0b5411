// SPDX-License-Identifier: MIT
#include "data/images/exif.hpp"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::data {
namespace {

using std::string_view_literals::operator""sv;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

constexpr auto kLittle =
    "II*\0\x08\0\0\0\x02\0\x00\x01\x04\0\x01\0\0\0\x07\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"sv;
constexpr auto kBig = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0"sv;

TEST(ExifOrientation, IsReadInBothByteOrders) {
  EXPECT_EQ(exif_orientation(bytes_of(kLittle)), 6);
  EXPECT_EQ(exif_orientation(bytes_of(kBig)), 8);
}

TEST(ExifOrientation, IsUprightWhereTheBlockMakesNoSense) {
  EXPECT_EQ(exif_orientation({}), 1);
  EXPECT_EQ(exif_orientation(bytes_of("II")), 1);
  EXPECT_EQ(exif_orientation(bytes_of("XX*\0\x08\0\0\0"sv)), 1);
  EXPECT_EQ(exif_orientation(bytes_of("II*\0\xFF\xFF\xFF\xFF\x01\0"sv)), 1);
  std::string strange(kLittle);
  strange[30] = 9;
  EXPECT_EQ(exif_orientation(bytes_of(strange)), 1);
  strange[30] = 6;
  strange[24] = 4;  // type long instead of short
  EXPECT_EQ(exif_orientation(bytes_of(strange)), 1);
  for (std::size_t length = 0; length < 30; ++length) {
    EXPECT_EQ(exif_orientation(bytes_of(kLittle.substr(0, length))), 1) << length;
  }
}

/// 1 2
/// 3 4
/// 5 6
constexpr std::uint8_t kImage[] = {1, 2, 3, 4, 5, 6};

TEST(TurnUpright, TurnsAndFlipsAsTheStandardSays) {
  // The eight orientations: the places of the first row and the first column (Exif 2.32, table 6).
  const std::vector<std::vector<std::uint8_t>> expected = {
      {1, 2, 3, 4, 5, 6}, {2, 1, 4, 3, 6, 5}, {6, 5, 4, 3, 2, 1}, {5, 6, 3, 4, 1, 2},
      {1, 3, 5, 2, 4, 6}, {5, 3, 1, 6, 4, 2}, {6, 4, 2, 5, 3, 1}, {2, 4, 6, 1, 3, 5}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Pixels turned = turn_upright(
        {.height = 3, .width = 2, .channels = 1, .values = {std::begin(kImage), std::end(kImage)}},
        orientation);
    EXPECT_EQ(turned.values, expected[static_cast<std::size_t>(orientation - 1)]) << orientation;
    EXPECT_EQ(turned.height, orientation < 5 ? 3 : 2);
    EXPECT_EQ(turned.width, orientation < 5 ? 2 : 3);
  }
}

TEST(TurnUpright, KeepsColoursTogether) {
  const Pixels turned =
      turn_upright({.height = 1, .width = 2, .channels = 3, .values = {1, 2, 3, 4, 5, 6}}, 8);
  EXPECT_EQ(turned.values, (std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(turned.height, 2);
}

}  // namespace
}  // namespace gangway::data
