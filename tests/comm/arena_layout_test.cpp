// SPDX-License-Identifier: MIT
#include "comm/arena/arena_layout.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/arena/arena.hpp"

namespace gangway::comm {
namespace {

using Tensors = std::vector<ArenaLayout::Tensor>;

TEST(ArenaLayout, StartsEveryTensorAtTheNextMultipleOfSixtyFour) {
  const ArenaLayout layout(Tensors{{"a", 1}, {"b", 64}, {"c", 65}, {"d", 7}}, Tensors{});
  std::vector<std::size_t> offsets;
  for (const ArenaEntry& entry : layout.parameters()) {
    offsets.push_back(entry.offset);
  }
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 64, 128, 256}));
}

TEST(ArenaLayout, KeepsNamesSizesAndOrder) {
  const ArenaLayout layout(Tensors{{"z", 10}, {"a", 20}}, Tensors{{"m", 30}});
  ASSERT_EQ(layout.parameters().size(), 2U);
  EXPECT_EQ(layout.parameters()[0].name, "z");
  EXPECT_EQ(layout.parameters()[1].name, "a");
  EXPECT_EQ(layout.parameters()[1].elements, 20U);
  ASSERT_EQ(layout.statistics().size(), 1U);
  EXPECT_EQ(layout.statistics()[0].name, "m");
  EXPECT_EQ(layout.statistics()[0].elements, 30U);
}

TEST(ArenaLayout, BeginsTheStatisticsAtTheNextBlock) {
  const ArenaLayout layout(Tensors{{"a", kBlockElements + 1}},
                           Tensors{{"mean", 3}, {"variance", 3}});
  EXPECT_EQ(layout.parameter_range(), (ElementRange{0, 2 * kBlockElements}));
  EXPECT_EQ(layout.statistics_range(), (ElementRange{2 * kBlockElements, 3 * kBlockElements}));
  EXPECT_EQ(layout.statistics()[0].offset, 2 * kBlockElements);
  EXPECT_EQ(layout.statistics()[1].offset, 2 * kBlockElements + kTensorAlignment);
}

TEST(ArenaLayout, BeginsEachBlockOfTheNetworkAtTheNextBlock) {
  const ArenaLayout layout(Tensors{{"0/weight", 10, 0},
                                   {"0/bias", 10, 0},
                                   {"2/weight", kBlockElements, 2},
                                   {"3/bias", 1, 3}},
                           Tensors{{"0/mean", 3, 0}, {"3/mean", 3, 3}});
  std::vector<std::size_t> offsets;
  for (const std::vector<ArenaEntry>& entries : {layout.parameters(), layout.statistics()}) {
    for (const ArenaEntry& entry : entries) {
      offsets.push_back(entry.offset);
    }
  }
  const auto at = [](std::size_t block, std::size_t element) {
    return block * kBlockElements + element;
  };
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 64, at(1, 0), at(2, 0), at(3, 0), at(4, 0)}));
  EXPECT_EQ(layout.num_blocks(), 5U);
}

TEST(ArenaLayout, AddsNoBlockWhereTheLastTensorFillsOne) {
  const ArenaLayout layout(Tensors{{"a", kBlockElements}}, Tensors{});
  EXPECT_EQ(layout.size(), kBlockElements);
  EXPECT_EQ(layout.num_blocks(), 1U);
  EXPECT_TRUE(layout.statistics_range().empty());
}

TEST(ArenaLayout, IsEmptyWithoutTensors) {
  const ArenaLayout layout(Tensors{}, Tensors{});
  EXPECT_EQ(layout.size(), 0U);
  EXPECT_TRUE(layout.parameter_range().empty());
}

TEST(ElementRange, IntersectsToTheCommonPart) {
  EXPECT_EQ(intersect({0, 10}, {5, 20}), (ElementRange{5, 10}));
  EXPECT_EQ(intersect({5, 20}, {0, 10}), (ElementRange{5, 10}));
  EXPECT_EQ(intersect({0, 30}, {5, 20}), (ElementRange{5, 20}));
}

TEST(ElementRange, IntersectsToAnEmptyRangeWhereNothingIsCommon) {
  EXPECT_TRUE(intersect({0, 5}, {5, 10}).empty());
  EXPECT_EQ(intersect({0, 5}, {7, 10}).size(), 0U);
  EXPECT_EQ(intersect({7, 10}, {0, 5}).size(), 0U);
}

TEST(Arena, StartsZeroedAndAlignedForVectors) {
  Arena arena(kBlockElements);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % (kTensorAlignment * sizeof(float)),
            0U);
  for (const float value : arena.range({0, arena.size()})) {
    ASSERT_EQ(value, 0.0F);
  }
}

TEST(Arena, HandsItsMemoryOverWhenMoved) {
  Arena arena(kBlockElements);
  arena.data()[7] = 3.0F;
  const float* const memory = arena.data();
  const Arena taken(std::move(arena));
  EXPECT_EQ(taken.data(), memory);
  EXPECT_EQ(taken.range({7, 8})[0], 3.0F);
}

TEST(Arena, MayBeEmpty) { EXPECT_EQ(Arena(0).size(), 0U); }

}  // namespace
}  // namespace gangway::comm
