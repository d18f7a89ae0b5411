// SPDX-License-Identifier: MIT
#include "gan/blocks/equalized_maps.hpp"

#include <utility>

#include "gan/blocks/label_blocks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/fused_maps.hpp"
#include "gan/precision.hpp"
#include "job/blocks/transformer_specs.hpp"

namespace gangway::gan {

at::Tensor style_activated(at::Tensor x) {
  if (is_fused(x)) {
    return fused_activation(x, std::nullopt, kLeakySlope, M_SQRT2);
  }
  return clamped_if_half(at::leaky_relu_(x, kLeakySlope) * M_SQRT2);
}

at::Tensor style_activated(at::Tensor x, const at::Tensor& bias) {
  if (is_fused(x)) {
    return fused_activation(x, bias, kLeakySlope, M_SQRT2);
  }
  return style_activated(x + in_type_of(x, bias).reshape({1, -1, 1, 1}));
}

at::Tensor of_unit_mean_square(const at::Tensor& x) {
  return x * (x.square().mean({1}, /*keepdim=*/true) + kStyleNormEpsilon).rsqrt();
}

at::Tensor EqualizedBlock::DenseMap::of(const at::Tensor& x) const {
  const FullPrecision in_float32;  // maps are small: 16 bits gain nothing
  const at::Tensor scaled = weight->tensor * (equalizing_gain(weight->tensor) * rate);
  return at::linear(widened(x), scaled, rate == 1.0 ? bias->tensor : bias->tensor * rate);
}

EqualizedBlock::DenseMap EqualizedBlock::dense(const std::string& name, double rate) {
  return {parameter(name + ".weight"), parameter(name + ".bias"), rate};
}

at::Tensor EqualizedBlock::Mapping::of(at::Tensor x) const {
  for (const DenseMap& layer : layers) {
    x = style_activated(layer.of(x));
  }
  return x;
}

EqualizedBlock::Mapping EqualizedBlock::mapping(int layers) {
  Mapping result;
  for (int layer = 0; layer < layers; ++layer) {
    result.layers.push_back(dense("layer" + std::to_string(layer), kStyleRate));
  }
  return result;
}

at::Tensor EqualizedBlock::embedded_label(const at::Tensor& labels, const DenseMap& embedding) {
  // Applies the map to one-hot rows.
  const FullPrecision in_float32;
  const at::Tensor& weight = embedding.weight->tensor;
  const at::Tensor rows = embedded(labels, weight.t() * equalizing_gain(weight));
  return of_unit_mean_square(rows + embedding.bias->tensor);
}

}  // namespace gangway::gan
