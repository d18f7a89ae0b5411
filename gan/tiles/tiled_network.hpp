// SPDX-License-Identifier: MIT
// Applies a network to pictures of any size in bounded memory, strip by strip of rows. Used by
// `gangway apply`. Compute thread.
//
// Strips are computed from the network's primitives, with the rows around them that convolutions
// see. So they are exact but for the order of sums. A map is stored where a strip would need all of
// it (the statistics of an instance norm), or would be computed often. Beyond a limit of memory it
// lies in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "gan/tiles/stored_map.hpp"
#include "gan/torch.hpp"
#include "job/primitives/primitive_graph.hpp"

namespace gangway::gan {

struct TileLimits {
  std::int64_t memory_bytes = std::int64_t{2} << 30;  ///< for stored maps and for strips
  std::filesystem::path scratch;  ///< folder of maps beyond that; the files have no names
  std::int64_t rows = 0;          ///< of a strip; 0: chosen for speed
};

class TiledNetwork {
 public:
  /// @param graph  with values; a translator's, of one input and one output of equal shapes
  /// @param device  computes, and has the maps that are in memory
  explicit TiledNetwork(PrimitiveGraph graph, at::Device device = at::kCPU);

  /// Returns the smallest side from `side` on that the network takes and gives back: its strides
  /// divide it, and its mirrored borders are narrower.
  [[nodiscard]] std::int64_t padded_side(std::int64_t side) const;
  /// Returns the channels of its pictures.
  [[nodiscard]] std::int64_t channels() const;
  /// Returns the bytes of stored maps and of one strip of all rows.
  [[nodiscard]] std::int64_t num_bytes(const MapSize& size) const;

  /// Returns rows of the input, [N, channels, rows, width], on the CPU. May be called for a row
  /// several times.
  using Source = std::function<at::Tensor(Rows)>;
  /// Takes rows of the output, on the CPU, in their order.
  using Sink = std::function<void(Rows, const at::Tensor&)>;
  /// Takes the fraction that is done.
  using Progress = std::function<void(double)>;

  /// Computes the network. @param size  of the input; its sides are padded_side()s
  /// @throws ConfigError if a strip needs more memory, EnvironmentError if the files need more
  /// room, both before any work; EnvironmentError if a file cannot be written
  void apply(
      const MapSize& size, const TileLimits& limits, const Source& source, const Sink& sink,
      const Progress& progress = [](double) {}) const;

 private:
  /// A tensor that is computed strip by strip.
  struct Target {
    std::size_t tensor = 0;
    std::vector<std::size_t> reads;  ///< tensors that are computed with it, stored ones, the input
    std::vector<std::size_t> freed;  ///< stored tensors that no later target reads
  };
  struct Plan;
  class Pass;

  [[nodiscard]] const Primitive& maker(std::size_t tensor) const {
    return graph_.primitives[makers_[tensor]];
  }
  [[nodiscard]] bool is_output(const Target& target) const { return &target == &targets_.back(); }
  void choose_stored();
  void add_reads(std::size_t tensor, Target& target) const;
  [[nodiscard]] std::vector<std::int64_t> sides_of(std::int64_t side) const;
  [[nodiscard]] Plan plan_for(const MapSize& size, const TileLimits& limits) const;

  PrimitiveGraph graph_;
  at::Device device_;
  std::vector<at::Tensor> constants_;  // by tensor; undefined: no constant
  std::vector<std::size_t> makers_;    // by tensor: its primitive, if it has one
  std::vector<bool> is_stored_;        // by tensor; the input counts as stored
  std::vector<bool> is_normalized_;    // by tensor: by an instance norm
  std::vector<Target> targets_;        // in the order of computation; the output is the last
};

}  // namespace gangway::gan
