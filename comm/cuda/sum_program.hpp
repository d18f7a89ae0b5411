// SPDX-License-Identifier: MIT
// Flattens one tree sum's order of additions (comm/arena/reduction_tree.hpp) into a small program,
// which a CUDA kernel takes as an argument. Plain data: included by .cpp and .cu files.
#pragma once

#include <cstdint>

#include "comm/cuda/host_device.hpp"

namespace gangway::comm {

/// Most summands of one slice: the partials of all workers. More do not fit a kernel's arguments;
/// reduce node by node instead.
inline constexpr int kMaxSummands = 128;
/// Most sums that wait for their right sibling; enough for trees over 65,536 micro-batches.
inline constexpr int kMaxSumDepth = 16;

/// Postfix program: takes summand 0, then each next summand i, to which it adds the `merges[i]`
/// topmost waiting sums, the older operand on the left.
struct SumProgram {
  std::int32_t num_summands = 0;
  std::int32_t depth = 0;  ///< most sums that wait at a time; at most kMaxSumDepth
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): kernels cannot call std::array's operators
  std::uint8_t merges[kMaxSummands] = {};
};

/// Runs `program`. `load(i)` returns summand i; `waiting` has room for program.depth values, each
/// `stride` apart. Value needs operator+. @pre program.num_summands >= 1.
template <typename Value, typename Load>
GANGWAY_HOST_DEVICE Value run_sum_program(const SumProgram& program, const Load& load,
                                          Value* waiting, int stride) {
  // NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): small, and 32 bits on a GPU
  Value top = load(0);
  int height = 0;
  for (int i = 1; i < program.num_summands; ++i) {
    waiting[height * stride] = top;
    ++height;
    top = load(i);
    for (int merge = 0; merge < program.merges[i]; ++merge) {
      --height;
      top = waiting[height * stride] + top;
    }
  }
  // NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
  return top;
}

}  // namespace gangway::comm
