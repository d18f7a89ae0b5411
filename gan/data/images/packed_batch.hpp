// SPDX-License-Identifier: MIT
// A micro-batch as one block of memory that a device copies from by itself: a byte a value where
// all of them come of 8-bit pixels. The loader's threads pack; worker/cuda/cuda_staging.hpp copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace gangway::data {

/// Page-locked memory, or whatever the device wants to copy from. Any thread.
using BlockAllocator = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

/// The labels and the examples' places (gan/data/kept_examples.hpp), int64, and behind them the
/// images.
struct PackedBatch {
  std::shared_ptr<std::byte> memory;  ///< null: nothing was packed
  std::size_t capacity = 0;           ///< bytes
  std::size_t bytes = 0;              ///< that are in use
  bool is_8_bit = false;              ///< images are bytes, each to_unit of one; else float32
  bool is_kept = false;               ///< nothing but the places is there
};

/// Bytes of a batch of `count` examples whose images have `values` values in all, of any kind.
[[nodiscard]] std::size_t packed_capacity(std::size_t count, std::size_t values);
/// Where the images begin.
[[nodiscard]] constexpr std::size_t packed_images_offset(std::size_t count) {
  return 2 * count * sizeof(std::int64_t);
}
/// Where their places begin.
[[nodiscard]] constexpr std::size_t packed_places_offset(std::size_t count) {
  return count * sizeof(std::int64_t);
}

/// Writes the byte of which each value is `to_unit` to `out`; false where one is not, and then
/// `out` has no meaning. @pre the values are finite, `out` has as many
[[nodiscard]] bool to_bytes(std::span<const float> values, std::span<std::uint8_t> out);

/// Packs a batch into `packed`, whose memory is used again where it is large enough.
/// @param places  one an example; none: they are nowhere
void pack(std::span<const float> images, std::span<const std::int64_t> labels,
          const BlockAllocator& allocate, PackedBatch& packed,
          std::span<const std::int64_t> places = {});
/// The same of one that a device has. @param values  of its images
void pack_kept(std::span<const std::int64_t> places, std::size_t values,
               const BlockAllocator& allocate, PackedBatch& packed);

}  // namespace gangway::data
