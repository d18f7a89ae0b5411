// SPDX-License-Identifier: MIT
// Taking a snapshot must not allocate, because it runs between two updates.
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "tests/allocation_count.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

TEST(SnapshotMemory, AllocatesNothingWhileASnapshotIsTaken) {
  const testing::SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  std::vector<std::vector<std::byte>> values;
  for (const TensorStretch& piece : memory.pieces()) {
    values.emplace_back(piece.bytes());
  }
  testing::start_counting_allocations();
  for (std::int64_t step = 0; step < 10; ++step) {
    if (memory.begin({.step = step})) {
      for (std::size_t piece = 0; piece < values.size(); ++piece) {
        memory.copy(piece, values[piece]);
      }
      memory.complete();
    }
    memory.protect(step);
  }
  testing::stop_counting_allocations();
  EXPECT_EQ(testing::take_allocation_count(), 0);
  EXPECT_EQ(ids_in(memory).size(), 2U);
}

}  // namespace
}  // namespace gangway::checkpoint
