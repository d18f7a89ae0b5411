// SPDX-License-Identifier: MIT
// Assigns each tensor of a network its place in one flat block of floats. Weights, gradients,
// moments and averages of a network share one layout, so "elements [a, b)" means the same in each.
// Immutable; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gangway::comm {

/// Tensors start at multiples of this many elements because vector bodies and scalar tails round
/// differently (docs/numerics.md).
inline constexpr std::size_t kTensorAlignment = 64;
/// Norms are sums over blocks of this many elements; slices of owners are made of whole blocks
/// (docs/numerics.md).
inline constexpr std::size_t kBlockElements = 4096;

/// Half-open range of elements.
struct ElementRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  [[nodiscard]] bool empty() const { return end <= begin; }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

[[nodiscard]] ElementRange intersect(ElementRange a, ElementRange b);

struct ArenaEntry {
  std::string name;
  std::size_t offset = 0;  ///< elements from the start of the arena
  std::size_t elements = 0;
};

class ArenaLayout {
 public:
  struct Tensor {
    std::string name;
    std::size_t elements = 0;
    /// The tensor's block of the network. Tensors of different network blocks share no block of
    /// kBlockElements, so a pipeline cut between network blocks changes no sum.
    std::size_t network_block = 0;
  };

  /// Lays out `parameters` in module order, then `statistics`: values that are summed over the
  /// micro-batches like gradients, but updated by an average instead of the optimiser (BatchNorm).
  ArenaLayout(std::span<const Tensor> parameters, std::span<const Tensor> statistics);

  [[nodiscard]] const std::vector<ArenaEntry>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<ArenaEntry>& statistics() const { return statistics_; }
  /// The whole blocks that hold the parameters, padding included.
  [[nodiscard]] ElementRange parameter_range() const { return {0, statistics_begin_}; }
  [[nodiscard]] ElementRange statistics_range() const { return {statistics_begin_, size_}; }
  /// Elements of an arena: a multiple of kBlockElements.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t num_blocks() const { return size_ / kBlockElements; }

 private:
  std::vector<ArenaEntry> parameters_;
  std::vector<ArenaEntry> statistics_;
  std::size_t statistics_begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gangway::comm
