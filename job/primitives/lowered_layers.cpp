// SPDX-License-Identifier: MIT
// Plain layers, labels, and R3GAN's blocks.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

Tensor one_hot(const LoweredBlock& block, std::int64_t classes) {
  const auto side = static_cast<std::size_t>(classes);
  std::vector<float> rows(side * side, 0.0F);
  for (std::size_t row = 0; row < side; ++row) {
    rows[row * side + row] = 1.0F;
  }
  return looked_up(block.builder().constant({classes, classes}, std::move(rows)),
                   block.in("labels"));
}

/// Returns <x, embedding(label)> [N, 1]. @param x  [N, features]
Tensor label_product(const LoweredBlock& block, const Tensor& x) {
  const Tensor direction = looked_up(block.tensor("embedding"), block.in("labels"));
  return along(Operation::kSum, x * direction, {1});
}

[[noreturn]] void refuse_to_write(const std::string& what) {
  throw ConfigError(
      fmt::format("{}: only its code knows what it computes, so it cannot be written as ONNX or "
                  "applied to other "
                  "sizes; export it as .safetensors",
                  what));
}

}  // namespace

void lower(const LayerSpec& spec, LoweredBlock& block) {
  Tensor x = block.in(spec.input);
  if (!spec.input_shape.empty()) {
    x = reshaped(x, spec.input_shape);
  }
  Tensor weight = block.tensor("weight");
  std::optional<Tensor> bias = block.find_tensor("bias");
  if (spec.batch_norm) {
    // With running statistics it is a scale and a shift of each output, so the map takes both.
    const Tensor scale = block.tensor("norm.weight") /
                         applied(Operation::kRoot, block.tensor("norm.running_var"), kNormEpsilon);
    Shape along_outputs(weight.shape().size(), 1);
    along_outputs[spec.kind == LayerKind::kTransposedConvolution ? 1 : 0] = spec.out;
    weight = weight * constant_as(scale, along_outputs);
    const Tensor mean = block.tensor("norm.running_mean");
    bias = block.tensor("norm.bias") + (bias ? *bias - mean : mean * -1.0) * scale;
  }
  const Window window{.stride = spec.stride, .padding = spec.padding};
  switch (spec.kind) {
    case LayerKind::kLinear:
      x = linear(x, weight, bias);
      break;
    case LayerKind::kConvolution:
      x = convolved(x, weight, bias, window);
      break;
    case LayerKind::kTransposedConvolution:
      x = convolved_transposed(x, weight, bias, window);
      break;
  }
  x = activated(x, spec.activation);
  block.out(spec.output, spec.output_shape.empty() ? x : reshaped(x, spec.output_shape));
}

void lower(const LabelConcatenationSpec& spec, LoweredBlock& block) {
  block.out("noise", joined({block.in("noise"), one_hot(block, spec.classes)}, 1));
}

void lower(const ProjectionHeadSpec& spec, LoweredBlock& block) {
  const Tensor& x = block.in("features");
  const Tensor unconditional =
      linear(reshaped(x, {spec.features * spec.pixels}), block.tensor("weight"));
  const Tensor means = along(Operation::kMean, reshaped(x, {spec.features, spec.pixels}), {2});
  block.out("features", unconditional + label_product(block, reshaped(means, {spec.features})));
}

void lower(const LabelEmbeddingSpec&, LoweredBlock& block) {
  const Tensor label = looked_up(block.tensor("embedding"), block.in("labels"));
  block.out("noise", joined({block.in("noise"), label}, 1));
}

void lower(const LabelProductSpec&, LoweredBlock& block) {
  block.out("features", label_product(block, block.in("features")));
}

void lower(const ResidualSpec& spec, LoweredBlock& block) {
  const Tensor& x = block.in("features");
  Tensor y = leaky(convolved(x, block.tensor("expand.weight"), block.tensor("expand.bias")));
  y = leaky(convolved(y, block.tensor("grouped.weight"), block.tensor("grouped.bias"),
                      {.padding = 1, .groups = spec.groups}));
  block.out("features", convolved(y, block.tensor("contract.weight")) + x);
}

void lower(const ResamplingSpec& spec, LoweredBlock& block) {
  const auto with_channels = [&](const Tensor& x) {
    const auto weight = block.find_tensor("weight");
    return weight ? convolved(x, *weight) : x;
  };
  const Tensor& x = block.in("features");
  block.out("features", spec.direction == Resampling::kUp ? upsampled(with_channels(x))
                                                          : with_channels(downsampled(x)));
}

void lower(const GenerativeBasisSpec&, LoweredBlock& block) {
  block.out("features",
            block.tensor("basis") * as_maps(linear(block.in("noise"), block.tensor("weight"))));
}

void lower(const DiscriminativeBasisSpec& spec, LoweredBlock& block) {
  const Tensor products =
      along(Operation::kSum, block.in("features") * block.tensor("basis"), {2, 3});
  block.out("features", linear(reshaped(products, {spec.channels}), block.tensor("weight")));
}

void lower(const PythonSpec& spec, LoweredBlock&) { refuse_to_write(spec.key); }

void lower(const LibrarySpec& spec, LoweredBlock&) { refuse_to_write("block kind " + spec.kind); }

}  // namespace gangway::primitives
