// SPDX-License-Identifier: MIT
// Writes networks as primitives. Weights are folded: gains, BatchNorm, spectral norms and filters
// are constants. Called by the ONNX export (launch/onnx/) and for counts
// (job/primitives/costs.hpp). Pure; any thread.
#pragma once

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

/// Returns whether the graph is for maps of any height and width: it maps "image" to maps by
/// operations that move with the pixels.
[[nodiscard]] bool takes_any_size(const PrimitiveGraph& graph);

}  // namespace gangway
