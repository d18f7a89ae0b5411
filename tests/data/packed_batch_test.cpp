// SPDX-License-Identifier: MIT
#include "data/images/packed_batch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "data/images/pixels.hpp"

namespace gangway::data {
namespace {

std::shared_ptr<std::byte> host_block(std::size_t bytes) {
  return {new std::byte[bytes], std::default_delete<std::byte[]>()};
}

TEST(PackedBatch, FindsEveryByteAgain) {
  std::vector<float> values;
  for (int byte = 0; byte < 256; ++byte) {
    values.push_back(to_unit(static_cast<std::uint8_t>(byte)));
  }
  std::vector<std::uint8_t> bytes(values.size());
  ASSERT_TRUE(to_bytes(values, bytes));
  for (std::size_t byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(bytes[byte], byte);
  }
}

TEST(PackedBatch, TakesNothingForAByteThatDiffersInTheLastBit) {
  std::vector<std::uint8_t> out(1);
  for (int byte = 0; byte < 256; ++byte) {
    const float value = to_unit(static_cast<std::uint8_t>(byte));
    for (const float towards : {-2.0F, 2.0F}) {
      const std::vector<float> near{std::nextafterf(value, towards)};
      EXPECT_FALSE(to_bytes(near, out)) << byte;
    }
  }
  for (const float far : {-1e30F, -1.5F, 1.5F, 1e30F, std::numeric_limits<float>::max()}) {
    EXPECT_FALSE(to_bytes(std::vector<float>{far}, out)) << far;
  }
}

TEST(PackedBatch, KeepsAllValuesWhereOneIsNoByte) {
  std::vector<float> images(10, to_unit(3));
  const std::vector<std::int64_t> labels{5, 6};
  PackedBatch packed;
  pack(images, labels, host_block, packed);
  EXPECT_TRUE(packed.is_8_bit);
  EXPECT_EQ(packed.bytes, 2 * (8 + 8) + 10U) << "labels, places, images";
  const std::byte* const memory = packed.memory.get();

  images[7] = 0.1F;
  pack(images, labels, host_block, packed);
  EXPECT_FALSE(packed.is_8_bit);
  EXPECT_EQ(packed.bytes, 2 * (8 + 8) + 40U);
  EXPECT_EQ(packed.memory.get(), memory) << "room is made for both";
  EXPECT_EQ(std::memcmp(memory, labels.data(), 16), 0);
  EXPECT_EQ(std::memcmp(memory + packed_images_offset(2), images.data(), 40), 0);
}

}  // namespace
}  // namespace gangway::data
