// SPDX-License-Identifier: MIT
// Taking a snapshot allocates nothing: it happens between two updates. The program replaces the
// global operator new, so it is one of its own.
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace {

std::atomic<bool> g_counts = false;
std::atomic<int> g_allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  g_allocations += g_counts ? 1 : 0;
  void* const memory =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// Not inlined: GCC would take free() for the wrong partner of a `new` that it has not inlined.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace gangway::checkpoint {
namespace {

TEST(SnapshotMemory, AllocatesNothingWhileASnapshotIsTaken) {
  const gangway::testing::SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  std::vector<std::vector<std::byte>> values;
  for (const SnapshotPiece& piece : memory.pieces()) {
    values.emplace_back(piece.bytes());
  }
  g_counts = true;
  for (std::int64_t step = 0; step < 10; ++step) {
    if (memory.begin({.step = step})) {
      for (std::size_t piece = 0; piece < values.size(); ++piece) {
        memory.copy(piece, values[piece]);
      }
      memory.complete();
    }
    memory.protect(step);
  }
  g_counts = false;
  EXPECT_EQ(g_allocations, 0);
  EXPECT_EQ(memory.moments().size(), 2U);
}

}  // namespace
}  // namespace gangway::checkpoint
