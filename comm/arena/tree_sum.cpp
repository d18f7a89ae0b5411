// SPDX-License-Identifier: MIT
#include "comm/arena/tree_sum.hpp"

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "comm/arena/arena_layout.hpp"

namespace gangway::comm {
namespace {

// Floats per scratch row: a few rows fit the first-level cache.
constexpr std::size_t kChunk = 2048;
// Scratch rows, one per level of the tree over the most micro-batches of a job (2^16).
constexpr std::size_t kMaxDepth = 18;

/// Adds element by element; `out` may alias `left` or `right`.
void add(const float* left, const float* right, float scale, float* out, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    out[i] = (left[i] + right[i]) * scale;
  }
}

/// Removes the summand that is exactly `node` from the front of `rest`. Returns null if `rest`
/// starts with a descendant of `node`. @throws InvariantError if it starts with neither.
const float* take_whole(MicrobatchRange node, std::span<const TreeSummand>& rest) {
  if (rest.empty() || rest.front().microbatches.begin != node.begin ||
      rest.front().microbatches.end > node.end) {
    throw InvariantError(
        "the partials of the workers do not cover the micro-batches; please report this");
  }
  if (rest.front().microbatches != node) {
    return nullptr;
  }
  const float* const values = rest.front().values;
  rest = rest.subspan(1);
  return values;
}

/// Sums the subtree `node` for `count` elements from `offset`. Returns the sum's address: `scratch`
/// (first row), or the summand itself if no addition is needed.
const float* sum_node(MicrobatchRange node, std::span<const TreeSummand>& rest, std::size_t offset,
                      std::size_t count, float* scratch) {
  if (const float* const whole = take_whole(node, rest)) {
    return whole + offset;
  }
  const int middle = split_point(node);
  const float* const left = sum_node({node.begin, middle}, rest, offset, count, scratch);
  const float* const right = sum_node({middle, node.end}, rest, offset, count, scratch + kChunk);
  add(left, right, 1.0F, scratch, count);
  return scratch;
}

/// Writes the root's scaled sum to `out`.
void sum_root(MicrobatchRange root, std::span<const TreeSummand>& rest, std::size_t offset,
              float scale, std::span<float> out, float* scratch) {
  if (const float* const whole = take_whole(root, rest)) {
    const float* const values = whole + offset;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = values[i] * scale;
    }
    return;
  }
  const int middle = split_point(root);
  const float* const left = sum_node({root.begin, middle}, rest, offset, out.size(), scratch);
  const float* const right =
      sum_node({middle, root.end}, rest, offset, out.size(), scratch + kChunk);
  add(left, right, scale, out.data(), out.size());
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
    sum_root(root, rest, offset + done, scale, out.subspan(done, count), scratch.data());
    if (!rest.empty()) {
      throw InvariantError(
          "the workers hold more partials than there are micro-batches; please report this");
    }
  }
}

double block_sum_of_squares(const float* block) {
  // Eight fixed lanes: vector units apply, and the order is equal on every machine.
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
