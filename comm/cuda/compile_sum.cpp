// SPDX-License-Identifier: MIT
#include "comm/cuda/compile_sum.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/estimate/device_estimate.hpp"

namespace gangway::comm {
namespace {

static_assert(kMaxSummands == kMostDeviceSums, "what jobs are refused for is what kernels take");

/// Walks the tree in postfix order and records each addition at the summand that triggers it.
class Compiler {
 public:
  explicit Compiler(std::span<const MicrobatchRange> rest) : rest_(rest) {}

  void visit(MicrobatchRange node) {
    if (rest_.empty() || rest_.front().begin != node.begin || rest_.front().end > node.end) {
      throw InvariantError(
          "the partials of the workers do not cover the micro-batches; please report this");
    }
    if (rest_.front() == node) {
      take();
      return;
    }
    const int middle = split_point(node);
    visit({node.begin, middle});
    visit({middle, node.end});
    ++program_.merges[program_.num_summands - 1];
    --height_;
  }

  [[nodiscard]] const SumProgram& finish() const {
    if (!rest_.empty()) {
      throw InvariantError(
          "the workers hold more partials than there are micro-batches; please report this");
    }
    return program_;
  }

 private:
  void take() {
    rest_ = rest_.subspan(1);
    // Earlier sums wait on the stack; the newest sum stays in a register.
    program_.depth = std::max(program_.depth, height_);
    if (program_.depth > kMaxSumDepth) {
      throw InvariantError(
          fmt::format("a tree deeper than {} sums; please report this", kMaxSumDepth));
    }
    ++height_;
    ++program_.num_summands;
  }

  std::span<const MicrobatchRange> rest_;
  SumProgram program_;
  std::int32_t height_ = 0;
};

void check_count(std::size_t summands) {
  if (summands == 0 || summands > static_cast<std::size_t>(kMaxSummands)) {
    throw InvariantError(fmt::format("{} partials for one sum, not 1 to {}; please report this",
                                     summands, kMaxSummands));
  }
}

}  // namespace

SumProgram tree_sum_program(std::span<const MicrobatchRange> subtrees, MicrobatchRange node) {
  check_count(subtrees.size());
  Compiler compiler(subtrees);
  compiler.visit(node);
  return compiler.finish();
}

SumProgram running_sum_program(int num_summands) {
  check_count(static_cast<std::size_t>(std::max(num_summands, 0)));
  SumProgram program;
  program.num_summands = num_summands;
  program.depth = num_summands > 1 ? 1 : 0;
  for (int i = 1; i < num_summands; ++i) {
    program.merges[i] = 1;
  }
  return program;
}

}  // namespace gangway::comm
