// SPDX-License-Identifier: MIT
#include "data/images/packed_batch.hpp"

#include <algorithm>
#include <cstring>

#include "data/images/pixels.hpp"

namespace gangway::data {

std::size_t packed_capacity(std::size_t count, std::size_t values) {
  return packed_images_offset(count) + values * sizeof(float);
}

bool to_bytes(std::span<const float> values, std::span<std::uint8_t> out) {
  int differing = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float clamped = std::min(std::max(values[i], -1.0F), 1.0F);
    out[i] = static_cast<std::uint8_t>(static_cast<int>((clamped + 1.0F) * 127.5F + 0.5F));
    differing |= to_unit(out[i]) == values[i] ? 0 : 1;
  }
  return differing == 0;
}

namespace {

void make_room(std::size_t capacity, const BlockAllocator& allocate, PackedBatch& packed) {
  if (packed.capacity < capacity) {
    packed.memory = allocate(capacity);
    packed.capacity = capacity;
  }
}

}  // namespace

void pack_kept(std::span<const std::int64_t> places, std::size_t values,
               const BlockAllocator& allocate, PackedBatch& packed) {
  make_room(packed_capacity(places.size(), values), allocate, packed);
  std::memcpy(packed.memory.get() + packed_places_offset(places.size()), places.data(),
              places.size_bytes());
  packed.is_8_bit = true;
  packed.is_kept = true;
  packed.bytes = packed_images_offset(places.size());
}

void pack(std::span<const float> images, std::span<const std::int64_t> labels,
          const BlockAllocator& allocate, PackedBatch& packed,
          std::span<const std::int64_t> places) {
  make_room(packed_capacity(labels.size(), images.size()), allocate, packed);
  packed.is_kept = false;
  std::memcpy(packed.memory.get(), labels.data(), labels.size_bytes());
  std::memcpy(packed.memory.get() + packed_places_offset(labels.size()), places.data(),
              places.size_bytes());
  std::byte* const place = packed.memory.get() + packed_images_offset(labels.size());
  packed.is_8_bit = to_bytes(images, {reinterpret_cast<std::uint8_t*>(place), images.size()});
  if (!packed.is_8_bit) {
    std::memcpy(place, images.data(), images.size_bytes());
  }
  packed.bytes =
      packed_images_offset(labels.size()) + (packed.is_8_bit ? images.size() : images.size_bytes());
}

}  // namespace gangway::data
