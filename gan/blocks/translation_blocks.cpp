// SPDX-License-Identifier: MIT
#include "gan/blocks/translation_blocks.hpp"

#include <utility>

#include "gan/blocks/layer_block.hpp"
#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

/// Pads both ends of `axis` of `x` [N, C, H, W] with `width` mirrored rows or columns, without
/// repeating the edge. It uses copies only because the gradient of LibTorch's padding sums in any
/// order on a device. @pre the axis is longer than `width`
at::Tensor mirrored_along(const at::Tensor& x, std::int64_t axis, std::int64_t width) {
  const std::int64_t size = x.size(axis);
  return at::cat({x.narrow(axis, 1, width).flip({axis}), x,
                  x.narrow(axis, size - 1 - width, width).flip({axis})},
                 axis);
}

at::Tensor mirrored(const at::Tensor& x, std::int64_t width) {
  return mirrored_along(mirrored_along(x, 2, width), 3, width);
}

/// Normalises each channel of each example to mean 0 and variance 1 over its pixels.
at::Tensor instance_normalized(const at::Tensor& x) {
  const at::Tensor wide = widened(x);
  const at::Tensor centred = wide - wide.mean({2, 3}, /*keepdim=*/true);
  const at::Tensor variance = centred.square().mean({2, 3}, /*keepdim=*/true);
  return in_type_of(x, centred * (variance + kNormEpsilon).rsqrt());
}

at::Tensor activated(at::Tensor x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kLeakyRelu:
      return at::leaky_relu(x, kLeakySlope);
    case Activation::kSoftplus:
      return at::softplus(x);
    case Activation::kTanh:
      return at::tanh(x);
  }
  return x;
}

}  // namespace

NamedTensors Skip::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("features", at::cat({at::relu(in.at(spec().skip)), in.at("features")}, 1));
}

NamedTensors InstanceLayer::forward(const NamedTensors& in, const ForwardContext&) {
  at::Tensor x = in.at(spec().input);
  if (spec().kind == LayerKind::kTransposedConvolution) {
    x = at::conv_transpose2d(x, weight_->tensor, bias_->tensor, spec().stride, spec().padding,
                             spec().output_padding);
  } else if (spec().border == Border::kMirror) {
    x = at::conv2d(mirrored(x, spec().padding), weight_->tensor, bias_->tensor, spec().stride);
  } else {
    x = at::conv2d(x, weight_->tensor, bias_->tensor, spec().stride, spec().padding);
  }
  if (spec().normalizes) {
    x = instance_normalized(x);
  }
  return in.with("features", activated(std::move(x), spec().activation));
}

NamedTensors InstanceResidual::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  at::Tensor y = at::conv2d(mirrored(x, 1), first_weight_->tensor, first_bias_->tensor);
  y = at::relu(instance_normalized(y));
  y = at::conv2d(mirrored(y, 1), second_weight_->tensor, second_bias_->tensor);
  return in.with("features", instance_normalized(y) + x);
}

}  // namespace gangway::gan
