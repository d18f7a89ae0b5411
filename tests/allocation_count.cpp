// SPDX-License-Identifier: MIT
#include "tests/allocation_count.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

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

// noinline: GCC otherwise warns that aligned_alloc() and free() do not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace gangway::testing {

void start_counting_allocations() { g_counts = true; }
void stop_counting_allocations() { g_counts = false; }
int take_allocation_count() { return g_allocations.exchange(0); }

}  // namespace gangway::testing
