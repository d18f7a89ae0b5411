// SPDX-License-Identifier: MIT
#include "job/primitives/costs.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "job/primitives/primitives.hpp"

namespace gangway {
namespace {

std::int64_t num_elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Returns the field of a primitive's output, by that of its maps.
ReceptiveField behind(const Primitive& primitive, const ReceptiveField& before) {
  const auto kernel = static_cast<double>(primitive.window.kernel);
  const auto stride = static_cast<double>(primitive.window.stride);
  const auto padding = static_cast<double>(primitive.window.padding);
  const double scale = before.scale;
  switch (primitive.operation) {
    case Operation::kConvolution:
    case Operation::kAveragePooling:
    case Operation::kMaximumPooling:
      return {before.before + scale * padding, before.behind + scale * (kernel - 1.0 - padding),
              scale * stride};
    case Operation::kTransposedConvolution:
      return {before.before + scale * (kernel - 1.0 - padding) / stride,
              before.behind + scale * padding / stride, scale / stride};
    case Operation::kRepetition:
      return {before.before + scale * (stride - 1.0) / stride, before.behind, scale / stride};
    case Operation::kReflection:
      return {before.before + scale * padding, before.behind - scale * padding, scale};
    default:
      return before;
  }
}

}  // namespace

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

std::optional<ReceptiveField> receptive_field(const PrimitiveGraph& graph) {
  if (!takes_any_size(graph)) {
    return std::nullopt;
  }
  std::vector<std::optional<ReceptiveField>> fields(graph.tensors.size());
  fields[graph.inputs.front()] = ReceptiveField{.behind = 1.0};
  for (const Primitive& primitive : graph.primitives) {
    std::optional<ReceptiveField> all;
    for (const std::size_t input : primitive.inputs) {
      if (fields[input]) {
        const ReceptiveField next = behind(primitive, *fields[input]);
        all = all ? ReceptiveField{std::max(all->before, next.before),
                                   std::max(all->behind, next.behind), next.scale}
                  : next;
      }
    }
    fields[primitive.output] = all;
  }
  return fields[graph.outputs.front()];
}

}  // namespace gangway
