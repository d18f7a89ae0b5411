// SPDX-License-Identifier: MIT
#include "checkpoint/files/aligned_buffer.hpp"

#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace gangway::checkpoint {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20U;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Maps anonymous memory of `bytes`, a multiple of `alignment`, at an aligned address.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment) {
  const std::size_t spare = alignment - kDirectAlignment;
  void* mapped = ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        /*fd=*/-1, /*offset=*/0);
  if (mapped == MAP_FAILED) {
    throw std::bad_alloc();
  }
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before = rounded_up(reinterpret_cast<std::uintptr_t>(begin), alignment) -
                             reinterpret_cast<std::uintptr_t>(begin);
  if (before != 0) {
    (void)::munmap(begin, before);
  }
  if (before != spare) {
    (void)::munmap(begin + before + bytes, spare - before);
  }
  return begin + before;
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) : size_(bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kDirectAlignment;
  const std::size_t mapped = rounded_up(bytes, alignment);
  if (mapped == 0) {
    return;
  }
  memory_ = std::unique_ptr<std::byte, Unmap>(map_aligned(mapped, alignment), Unmap{mapped});
  if (alignment == kHugePage) {
    (void)::madvise(memory_.get(), mapped, MADV_HUGEPAGE);  // small pages also work
  }
}

void AlignedBuffer::Unmap::operator()(std::byte* memory) const noexcept {
  (void)::munmap(memory, mapped);
}

}  // namespace gangway::checkpoint
