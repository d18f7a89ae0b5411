// SPDX-License-Identifier: MIT
// Writes a network's primitives as ONNX. Called by `gangway checkpoints export`. Its source alone
// sees Protobuf. Any thread.
#pragma once

#include <map>
#include <string>

#include "job/primitives/primitive_graph.hpp"

namespace gangway::launch {

/// Returns the graph as an ONNX model (operator set 17, IR 8). Inputs and outputs have a batch of
/// any size; those of a graph that takes any size, any height and width, too. Inputs are "noise" or
/// "image", float32, and "labels", int64 [batch]. Outputs are "output", or "level0" and so on.
/// @param notes  stored in the model, by name
/// @throws ConfigError if the model is larger than a Protobuf message may be (2 GiB)
[[nodiscard]] std::string onnx_model(const PrimitiveGraph& graph, const std::string& name,
                                     const std::map<std::string, std::string>& notes);

}  // namespace gangway::launch
