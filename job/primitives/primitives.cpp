// SPDX-License-Identifier: MIT
#include "job/primitives/primitives.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "job/families/families.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway {
namespace primitives {
namespace {

/// Returns the shape of "features" from another network, by the first block that takes them.
Shape features_shape(const BlockSpec& first) {
  if (const auto* layer = std::get_if<LayerSpec>(&first)) {
    return layer->kind == LayerKind::kLinear ? Shape{1, layer->in}
                                             : Shape{1, layer->in, layer->kernel, layer->kernel};
  }
  const auto* head = std::get_if<ProjectionHeadSpec>(&first);
  return head != nullptr ? Shape{1, head->features * head->pixels} : Shape{1};  // 1: of a user's
}

Shape image_shape(const BlockSpec& first, const ModelSpec& model) {
  Shape shape = example_shape(model);
  const auto* layer = std::get_if<LayerSpec>(&first);
  const auto* instance_layer = std::get_if<InstanceLayerSpec>(&first);
  // A discriminator of pairs takes two pictures as one.
  if (layer != nullptr && layer->kind == LayerKind::kConvolution) {
    shape.front() = layer->in;
  } else if (instance_layer != nullptr) {
    shape.front() = instance_layer->in;
  }
  shape.insert(shape.begin(), 1);
  return shape;
}

Shape input_shape(std::string_view name, const BlockSpec& first, const ModelSpec& model) {
  if (name == "labels") {
    return {1};
  }
  if (name == "noise") {
    return {1, model.inputs()};
  }
  return name == "image" ? image_shape(first, model) : features_shape(first);
}

}  // namespace
}  // namespace primitives

PrimitiveGraph primitives_of(const Architecture& network, const ModelSpec& model, double growth,
                             const TensorValues& values) {
  primitives::GraphBuilder builder;
  std::map<std::string, primitives::Tensor> live;
  for (std::size_t index = 0; index < network.blocks.size(); ++index) {
    builder.begin_block(index);
    std::visit(
        [&](const auto& spec) {
          BlockTensors tensors = tensors_of(spec);
          for (const std::string& name : tensors.ports.inputs) {
            // A network's own inputs; a growing network lacks tensors of blocks to come.
            if (!live.contains(name) &&
                (index == 0 || name == "image" || name == "labels" || name == "noise")) {
              live.emplace(name, builder.input(name, primitives::input_shape(
                                                         name, network.blocks.front(), model)));
            }
          }
          primitives::LoweredBlock block(builder, live, std::move(tensors), index, growth, values);
          lower(spec, block);
        },
        network.blocks[index]);
  }
  std::vector<primitives::Tensor> outputs;
  for (const std::string& name :
       network.levels.empty() ? std::vector<std::string>{"features"} : network.levels) {
    outputs.push_back(live.at(name));
  }
  return builder.finish(outputs);
}

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

bool takes_any_size(const PrimitiveGraph& graph) {
  const auto moves_with_pixels = [](const Primitive& primitive) {
    switch (primitive.operation) {
      case Operation::kMatrixProduct:
      case Operation::kGroupDeviation:
      case Operation::kSum:
      case Operation::kSoftmax:
      case Operation::kSlice:
      case Operation::kZerosInFront:
      case Operation::kTransposition:
      case Operation::kReshape:
      case Operation::kLookup:
        return false;
      default:
        return true;
    }
  };
  return graph.inputs.size() == 1 && graph.tensors[graph.inputs.front()].shape.size() == 4 &&
         std::ranges::all_of(graph.primitives, moves_with_pixels);
}

}  // namespace gangway
