// SPDX-License-Identifier: MIT
// What a network costs and sees, counted on its primitives. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "job/primitives/primitive_graph.hpp"

namespace gangway {

/// Returns the multiply-adds of convolutions and matrix products for one example, at the model's
/// own resolution. @param block  counts this block alone
[[nodiscard]] std::int64_t multiply_adds(const PrimitiveGraph& graph,
                                         std::optional<std::size_t> block = std::nullopt);

/// Returns the values that the block's primitives make for one example, without constants.
[[nodiscard]] std::int64_t values_made(const PrimitiveGraph& graph, std::size_t block);

/// The pixels of the input that one output pixel depends on, beside statistics of whole maps.
struct ReceptiveField {
  double before = 0.0;  ///< input pixels left of (above) the output pixel's own place
  double behind = 0.0;  ///< right of it (below), its own place included
  double scale = 1.0;   ///< input pixels an output pixel
  [[nodiscard]] double size() const { return before + behind; }
};

/// Returns the field of the first output; nullopt unless takes_any_size(graph).
[[nodiscard]] std::optional<ReceptiveField> receptive_field(const PrimitiveGraph& graph);

}  // namespace gangway
