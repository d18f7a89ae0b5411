// SPDX-License-Identifier: MIT
#include "comm/tree_sum.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "comm/arena_layout.hpp"
#include "job/errors.hpp"

namespace gangway::comm {
namespace {

// Floats a scratch row: a few rows stay in the first-level cache.
constexpr std::size_t kChunk = 2048;
// Rows: one a level of the tree over the most micro-batches a job may have (2^16).
constexpr std::size_t kMaxDepth = 18;

/// Sums the subtree `node` for `count` elements from `offset` into `out`, using `scratch` rows
/// below.
void sum_node(MicrobatchRange node, std::span<const TreeSummand>& rest, std::size_t offset,
              std::size_t count, float* out, float* scratch) {
  if (rest.empty() || rest.front().microbatches.begin != node.begin ||
      rest.front().microbatches.end > node.end) {
    throw InvariantError(
        "the partials of the workers do not cover the micro-batches; please report this");
  }
  if (rest.front().microbatches == node) {
    std::memcpy(out, rest.front().values + offset, count * sizeof(float));
    rest = rest.subspan(1);
    return;
  }
  const int middle = split_point(node);
  sum_node({node.begin, middle}, rest, offset, count, out, scratch);
  sum_node({middle, node.end}, rest, offset, count, scratch, scratch + kChunk);
  add_in_place(out, scratch, count);
}

}  // namespace

void add_in_place(float* target, const float* addend, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    target[i] += addend[i];
  }
}

std::span<const TreeSummand> within(MicrobatchRange root, std::span<const TreeSummand> summands) {
  const auto is_outside = [&](const TreeSummand& s) { return !root.contains(s.microbatches); };
  const auto begin = std::ranges::find_if_not(summands, is_outside);
  return {begin, std::find_if(begin, summands.end(), is_outside)};
}

void tree_sum(std::span<const TreeSummand> summands, MicrobatchRange root, float scale,
              std::span<float> out, std::size_t offset) {
  std::array<float, kMaxDepth * kChunk> scratch;  // NOLINT: filled before it is read
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - done);
    std::span<const TreeSummand> rest = summands;
    sum_node(root, rest, offset + done, count, out.data() + done, scratch.data());
    if (!rest.empty()) {
      throw InvariantError(
          "the workers hold more partials than there are micro-batches; please report this");
    }
    if (scale != 1.0F) {
      for (float& value : out.subspan(done, count)) {
        value *= scale;
      }
    }
  }
}

double block_sum_of_squares(const float* block) {
  // Eight fixed lanes: vector units can be used, and the order is the same on every machine.
  std::array<double, 8> lanes{};
  for (std::size_t i = 0; i < kBlockElements; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const double value = block[i + lane];
      lanes[lane] += value * value;
    }
  }
  return pairwise_sum(lanes);
}

double pairwise_sum(std::span<const double> values) {
  if (values.size() <= 1) {
    return values.empty() ? 0.0 : values.front();
  }
  const std::size_t middle = values.size() / 2;
  return pairwise_sum(values.first(middle)) + pairwise_sum(values.subspan(middle));
}

}  // namespace gangway::comm
