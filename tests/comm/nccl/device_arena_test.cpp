// SPDX-License-Identifier: MIT
#include "comm/nccl/device_arena.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gangway::comm {
namespace {

/// Asks the kernel whether memory is mapped at an address.
class Memory {
 public:
  Memory() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Memory() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] bool is_at(const float* address) const {
    if (::write(ends_[1], address, 1) != 1) {
      return false;
    }
    char taken = 0;
    return ::read(ends_[0], &taken, 1) == 1;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(DeviceArena, HasAllOfAnArenaThatIsHeld) {
  const std::vector<ElementRange> held{{0, 1'000}};
  const DeviceArena arena(1'000, held, 3);
  EXPECT_EQ(arena.registrable().size(), 3'000U);
  EXPECT_TRUE(std::ranges::all_of(arena.registrable(), [](float value) { return value == 0.0F; }));
}

TEST(DeviceArena, HasNothingOfAnArenaThatIsNotHeld) {
  const DeviceArena arena(100'000, {});
  ASSERT_NE(arena.data(), nullptr);
  EXPECT_TRUE(arena.registrable().empty());
  EXPECT_FALSE(Memory().is_at(arena.data()));
  EXPECT_FALSE(Memory().is_at(arena.data() + 99'999));
}

TEST(DeviceArena, HasThePartsThatAreHeldInTheirPlaces) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::size_t elements = 16 * (1 + random() % 20'000);
    const std::size_t copies = 1 + random() % 4;
    std::vector<std::size_t> ends(2 + 2 * (random() % 4));
    std::ranges::generate(ends, [&] { return random() % (elements + 1); });
    std::ranges::sort(ends);
    std::vector<ElementRange> held;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      held.push_back({ends[i], ends[i + 1]});
    }
    const DeviceArena arena(elements, held, copies);
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (const ElementRange range : held) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
          float& value = arena.data()[copy * elements + i];
          ASSERT_EQ(value, 0.0F) << "twice the same memory, or not cleared";
          value = 1.0F;
        }
      }
    }
  }
}

TEST(DeviceArena, HasNothingFarFromWhatIsHeld) {
  constexpr std::size_t kFar = 1'000'000;
  const std::vector<ElementRange> held{{0, 10}, {2 * kFar, 2 * kFar + 10}};
  const DeviceArena arena(4 * kFar, held, 2);
  const Memory memory;
  for (const std::size_t copy : {0, 1}) {
    const float* const begin = arena.data() + copy * 4 * kFar;
    EXPECT_TRUE(memory.is_at(begin));
    EXPECT_FALSE(memory.is_at(begin + kFar));
    EXPECT_TRUE(memory.is_at(begin + 2 * kFar + 9));
    EXPECT_FALSE(memory.is_at(begin + 3 * kFar));
  }
}

}  // namespace
}  // namespace gangway::comm
