// SPDX-License-Identifier: MIT
#include "gan/blocks/style_judges.hpp"

#include <algorithm>
#include <cmath>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/residual_blocks.hpp"
#include "gan/fused_maps.hpp"
#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

/// Convolves with equalised learning rate.
at::Tensor equal_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             std::int64_t stride, std::int64_t padding) {
  return at::conv2d(x, weight * equalizing_gain(weight), bias, stride, padding);
}

/// Convolves and activates; a fused kernel, if there is one, adds the bias.
at::Tensor activated_convolution(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, std::int64_t padding) {
  return is_fused(x) ? style_activated(equal_convolution(x, weight, {}, 1, padding), bias)
                     : style_activated(equal_convolution(x, weight, bias, 1, padding));
}

/// Appends one map to `x`: each feature's standard deviation over a group of examples, averaged.
/// Example i is in group i modulo their number (the authors' code).
at::Tensor with_deviation(const at::Tensor& x, std::int64_t most) {
  const std::int64_t group = deviation_group(x.size(0), most);
  const std::int64_t num_groups = x.size(0) / group;
  const at::Tensor grouped =
      widened(x).reshape({group, num_groups, x.size(1), x.size(2), x.size(3)});
  const at::Tensor variance = (grouped - grouped.mean({0}, /*keepdim=*/true)).square().mean({0});
  const at::Tensor deviation = (variance + kStyleNormEpsilon).sqrt().mean({1, 2, 3});
  return at::cat(
      {x, deviation.reshape({num_groups, 1, 1, 1}).repeat({group, 1, x.size(2), x.size(3)})}, 1);
}

}  // namespace

std::int64_t deviation_group(std::int64_t count, std::int64_t most) {
  std::int64_t group = std::min(most, count);
  while (count % group != 0) {
    --group;
  }
  return group;
}

NamedTensors StyleImage::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("features",
                 activated_convolution(in.at("image"), weight_->tensor, bias_->tensor, 0));
}

NamedTensors StyleHalving::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  at::Tensor y = activated_convolution(x, first_weight_->tensor, first_bias_->tensor, 1);
  y = equal_convolution(smoothed(y, /*padding=*/2), second_weight_->tensor, second_bias_->tensor,
                        /*stride=*/2, /*padding=*/0);
  if (skip_weight_ == nullptr) {
    return in.with("features", style_activated(y));
  }
  // The activation's sqrt(2) and the divisor of the sum cancel.
  y = clamped_if_half(at::leaky_relu_(y, kLeakySlope));
  const at::Tensor skip = equal_convolution(downsampled(x), skip_weight_->tensor, {}, 1, 0);
  return in.with("features", y + skip * M_SQRT1_2);
}

NamedTensors StyleEpilogue::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor x = activated_convolution(with_deviation(in.at("features"), spec().group),
                                             weight_->tensor, bias_->tensor, /*padding=*/1);
  return in.with("features", head_.of(style_activated(dense_.of(x.flatten(1)))));
}

NamedTensors StyleLabel::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor direction = mapping_.of(embedded_label(in.at("labels"), embedding_));
  const double scale = 1.0 / std::sqrt(static_cast<double>(spec().features));
  return in.with("features", (in.at("features") * direction).sum(1, true) * scale);
}

}  // namespace gangway::gan
