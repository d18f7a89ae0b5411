// SPDX-License-Identifier: MIT
#include "job/primitives/costs.hpp"

namespace gangway {

std::int64_t multiply_adds(const PrimitiveGraph& graph, std::optional<std::size_t> block) {
  std::int64_t count = 0;
  for (const Primitive& primitive : graph.primitives) {
    if (block && primitive.block != *block) {
      continue;
    }
    const auto shape = [&](std::size_t input) -> const Shape& {
      return graph.tensors[primitive.inputs[input]].shape;
    };
    const std::int64_t made = num_elements(graph.tensors[primitive.output].shape);
    switch (primitive.operation) {
      case Operation::kMatrixProduct:
        count += made * shape(0).back();
        break;
      case Operation::kConvolution:
        count += made * num_elements(shape(1)) / shape(1).front();
        break;
      case Operation::kTransposedConvolution:
        count += num_elements(shape(0)) * num_elements(shape(1)) / shape(1).front();
        break;
      default:
        break;
    }
  }
  return count;
}

std::int64_t values_made(const PrimitiveGraph& graph, std::size_t block) {
  std::int64_t count = 0;
  for (const Primitive& primitive : graph.primitives) {
    const GraphTensor& made = graph.tensors[primitive.output];
    count += primitive.block == block && !made.is_constant ? num_elements(made.shape) : 0;
  }
  return count;
}

}  // namespace gangway
