// SPDX-License-Identifier: MIT
// What goes before the elements of a tensor that travels between workers: which one it is, and how
// its elements lie in memory. As bits on the wire: the workers of a job run one build on machines
// of one kind.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace gangway::comm {

/// Which tensor of a step it is: unique among those that two workers have under way.
struct TensorKey {
  std::int64_t step = 0;
  std::int32_t phase = 0;
  std::int32_t repeat = 0;
  std::int32_t pass = 0;
  std::int32_t microbatch = 0;
  std::int32_t node = 0;
  std::int32_t output = 0;       ///< of the node's
  std::int32_t is_gradient = 0;  ///< 1: of a loss, with respect to it
  std::int32_t reserved = 0;
  auto operator<=>(const TensorKey&) const = default;
};

struct TensorShape {
  static constexpr std::size_t kMostAxes = 6;
  std::int32_t type = 0;   ///< the sender's number of its elements' type
  std::int32_t axes = -1;  ///< -1: there is no tensor (nothing gave a gradient)
  std::array<std::int64_t, kMostAxes> sizes{};
  std::array<std::int64_t, kMostAxes> strides{};
  std::uint64_t bytes = 0;  ///< of memory that it spans
  bool operator==(const TensorShape&) const = default;
};

struct TensorHeader {
  TensorKey key;
  TensorShape shape;
};

}  // namespace gangway::comm
