// SPDX-License-Identifier: MIT
// A micro-batch as one block of memory for copying to a device: one byte a value if all values come
// from 8-bit pixels. The loader's threads pack; worker/cuda/cuda_staging.hpp copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace gangway::data {

/// Allocates memory that the device copies from (page-locked on CUDA). Any thread.
using BlockAllocator = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

/// Labels, then places of examples (data/kept_examples.hpp), both int64, then the images.
struct PackedBatch {
  std::shared_ptr<std::byte> memory;  ///< null: nothing was packed
  std::size_t capacity = 0;           ///< bytes
  std::size_t bytes = 0;              ///< bytes in use
  bool is_8_bit = false;              ///< images are bytes (see to_unit); else float32
  bool is_kept = false;               ///< holds the places only
};

/// Returns the bytes for `count` examples with `values` image values in total, of any type.
[[nodiscard]] std::size_t packed_capacity(std::size_t count, std::size_t values);
/// Returns the offset of the images, in bytes.
[[nodiscard]] constexpr std::size_t packed_images_offset(std::size_t count) {
  return 2 * count * sizeof(std::int64_t);
}
/// Returns the offset of the places, in bytes.
[[nodiscard]] constexpr std::size_t packed_places_offset(std::size_t count) {
  return count * sizeof(std::int64_t);
}

/// Inverts to_unit for each value. Returns false if a value comes from no byte; `out` is then
/// undefined. @pre finite values; `out` has the same size
[[nodiscard]] bool to_bytes(std::span<const float> values, std::span<std::uint8_t> out);

/// Packs a batch into `packed`; reuses its memory if large enough.
/// @param places  one for each example; empty: the device keeps none
void pack(std::span<const float> images, std::span<const std::int64_t> labels,
          const BlockAllocator& allocate, PackedBatch& packed,
          std::span<const std::int64_t> places = {});
/// Packs the places of a batch that the device has. @param values  of its images
void pack_kept(std::span<const std::int64_t> places, std::size_t values,
               const BlockAllocator& allocate, PackedBatch& packed);

}  // namespace gangway::data
