// SPDX-License-Identifier: MIT
// Writes networks as primitives. Weights are folded: gains, BatchNorm, spectral norms and filters
// are constants. Called by the ONNX export (launch/onnx/) and for counts. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"
#include "job/primitives/primitive_graph.hpp"

namespace gangway {

/// Returns the network as it computes in evaluation. @param growth  that it has reached
/// @param values  null: the graph has shapes without values
/// @pre `model.normalization` is settled (JobSpec::settled_model)
/// @throws ConfigError if a block is the user's code
[[nodiscard]] PrimitiveGraph primitives_of(const Architecture& network, const ModelSpec& model,
                                           double growth, const TensorValues& values = nullptr);

/// Returns the multiply-adds of convolutions and matrix products for one example, at the model's
/// own resolution. @param block  counts only this block
[[nodiscard]] std::int64_t multiply_adds(const PrimitiveGraph& graph,
                                         std::optional<std::size_t> block = std::nullopt);

/// Returns the values that the block's primitives make for one example, without constants.
[[nodiscard]] std::int64_t values_made(const PrimitiveGraph& graph, std::size_t block);

/// Returns whether the graph is for maps of any height and width: it maps "image" to maps by
/// operations that move with the pixels.
[[nodiscard]] bool takes_any_size(const PrimitiveGraph& graph);

}  // namespace gangway
