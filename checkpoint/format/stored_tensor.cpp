// SPDX-License-Identifier: MIT
#include "checkpoint/format/stored_tensor.hpp"

#include <cstring>

#include <fmt/format.h>

namespace gangway::checkpoint {

namespace {

/// Copies items from N, H, W, C to N, C, H, W one by one, counting through the four axes.
template <std::size_t kItemBytes>
void scatter(const StoredTensor& tensor, std::uint64_t begin, std::span<const std::byte> bytes,
             std::span<std::byte> row_major) {
  const auto channels = static_cast<std::uint64_t>(tensor.shape[1]);
  const auto plane = static_cast<std::uint64_t>(tensor.shape[2] * tensor.shape[3]);
  std::uint64_t channel = begin % channels;
  std::uint64_t pixel = begin / channels % plane;
  std::uint64_t image = begin / channels / plane;
  for (std::size_t at = 0; at < bytes.size(); at += kItemBytes) {
    const std::uint64_t to = (image * channels + channel) * plane + pixel;
    std::memcpy(row_major.data() + to * kItemBytes, bytes.data() + at, kItemBytes);
    if (++channel == channels) {
      channel = 0;
      if (++pixel == plane) {
        pixel = 0;
        ++image;
      }
    }
  }
}

}  // namespace

std::string_view order_name(StoredOrder order) {
  return order == StoredOrder::kRowMajor ? "row-major" : "channels-last";
}

std::uint64_t StoredTensor::num_elements() const {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= static_cast<std::uint64_t>(extent);
  }
  return count;
}

bool is_stored_whole(const StoredTensor& tensor, const TensorPiece& piece) {
  return tensor.order == StoredOrder::kRowMajor && piece.begin == 0 &&
         piece.end == tensor.num_elements();
}

std::string piece_name(const StoredTensor& tensor, const TensorPiece& piece) {
  return is_stored_whole(tensor, piece) ? tensor.name
                                        : fmt::format("{}@{}", tensor.name, piece.begin);
}

std::uint64_t row_major_index(const StoredTensor& tensor, std::uint64_t stored) {
  if (tensor.order == StoredOrder::kRowMajor) {
    return stored;
  }
  const auto channels = static_cast<std::uint64_t>(tensor.shape[1]);
  const auto plane = static_cast<std::uint64_t>(tensor.shape[2] * tensor.shape[3]);
  const std::uint64_t channel = stored % channels;
  const std::uint64_t pixel = stored / channels % plane;
  const std::uint64_t image = stored / channels / plane;
  return (image * channels + channel) * plane + pixel;
}

void place_row_major(const StoredTensor& tensor, std::uint64_t begin,
                     std::span<const std::byte> bytes, std::span<std::byte> row_major) {
  const std::size_t item = item_size(tensor.type);
  if (tensor.order == StoredOrder::kRowMajor) {
    if (!bytes.empty()) {
      std::memcpy(row_major.data() + begin * item, bytes.data(), bytes.size());
    }
    return;
  }
  switch (item) {
    case 1:
      return scatter<1>(tensor, begin, bytes, row_major);
    case 2:
      return scatter<2>(tensor, begin, bytes, row_major);
    case 4:
      return scatter<4>(tensor, begin, bytes, row_major);
    default:
      return scatter<8>(tensor, begin, bytes, row_major);
  }
}

}  // namespace gangway::checkpoint
