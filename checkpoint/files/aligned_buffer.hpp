// SPDX-License-Identifier: MIT
// Memory for direct I/O. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace gangway::checkpoint {

/// Addresses, sizes and offsets of direct I/O are multiples of this; no known disk has larger
/// blocks.
inline constexpr std::size_t kDirectAlignment = 4096;

/// Owns memory for direct I/O; a buffer of 2 MiB or more uses huge pages if the kernel has them.
/// Direct I/O sends one request per page, so large pages are faster (docs/measurements.md).
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
