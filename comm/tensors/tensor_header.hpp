// SPDX-License-Identifier: MIT
// Defines the header of a tensor between workers: its key and its memory layout. Sent as raw bytes
// because a job's workers run one build on one kind of machine. Any thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace gangway::comm {

/// A tensor of a step; unique among the tensors in transit between two workers.
struct TensorKey {
  std::int64_t step = 0;
  std::int32_t phase = 0;
  std::int32_t repeat = 0;
  std::int32_t pass = 0;
  std::int32_t microbatch = 0;
  std::int32_t node = 0;
  std::int32_t output = 0;       ///< index among the node's outputs
  std::int32_t is_gradient = 0;  ///< 1: the gradient of a loss with respect to this output
  std::int32_t reserved = 0;
  auto operator<=>(const TensorKey&) const = default;
};

struct TensorShape {
  static constexpr std::size_t kMostAxes = 6;
  std::int32_t type = 0;   ///< the sender's number of the element type
  std::int32_t axes = -1;  ///< -1: no tensor (the backward pass gave no gradient)
  std::array<std::int64_t, kMostAxes> sizes{};
  std::array<std::int64_t, kMostAxes> strides{};
  std::uint64_t bytes = 0;  ///< bytes of memory that it spans
  bool operator==(const TensorShape&) const = default;
};

struct TensorHeader {
  TensorKey key;
  TensorShape shape;
};

}  // namespace gangway::comm
