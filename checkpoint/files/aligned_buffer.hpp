// SPDX-License-Identifier: MIT
// Memory for direct I/O. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace gangway::checkpoint {

/// Addresses, sizes and offsets of direct I/O are multiples of this (of the block, on every disk
/// that we know of).
inline constexpr std::size_t kDirectAlignment = 4096;

/// Where the kernel has huge pages to give, a buffer of 2 MiB or more is made of them: direct I/O
/// hands the disk one piece a page, and few large pieces move faster than a thousand small ones
/// (docs/measurements.md has by how much).
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// @throws std::bad_alloc.
  explicit AlignedBuffer(std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Unmap {
    std::size_t mapped;
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{0}};
  std::size_t size_ = 0;
};

}  // namespace gangway::checkpoint
