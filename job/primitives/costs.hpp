// SPDX-License-Identifier: MIT
// What a network costs, counted on its primitives. Pure; any thread.
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

}  // namespace gangway
