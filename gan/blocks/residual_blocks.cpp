// SPDX-License-Identifier: MIT
#include "gan/blocks/residual_blocks.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/fused_maps.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Upsampling and downsampling are adjoints, except for a factor, which gives autograd derivatives
// of any order. Autograd's second derivative of a convolution would go channel by channel, for the
// gradient of a filter that is not trained.
struct Upsampling final : torch::autograd::Function<Upsampling> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};
struct Downsampling final : torch::autograd::Function<Downsampling> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

/// Its adjoint is itself, with padding 3 - padding.
struct Smoothing final : torch::autograd::Function<Smoothing> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, std::int64_t padding,
                            double factor);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

/// Pixels of the larger map for each pixel of the smaller.
constexpr double kPixels = 4.0;

/// Returns the outer product of [1, 3, 3, 1] / 8 with itself for each channel, times `factor`.
/// Computed on the device of `x` to avoid a copy; exact.
at::Tensor interpolation(const at::Tensor& x, double factor) {
  const at::Tensor distance = (at::arange(4, x.options()) - 1.5).abs();
  const at::Tensor line = 2.0 - distance;  // [1, 3, 3, 1] / 2
  return (at::outer(line, line) * (factor / 16.0)).repeat({x.size(1), 1, 1, 1});
}

at::Tensor Upsampling::forward(AutogradContext* /*context*/, const at::Tensor& x) {
  if (is_fused(x)) {
    return fused_resampling(
        x,
        {.up = 2, .padding = 2, .height = 2 * x.size(2), .width = 2 * x.size(3), .gain = kPixels});
  }
  return at::conv_transpose2d(x, interpolation(x, kPixels), {}, /*stride=*/2, /*padding=*/1,
                              /*output_padding=*/at::IntArrayRef{0}, /*groups=*/x.size(1));
}

at::Tensor Downsampling::forward(AutogradContext* /*context*/, const at::Tensor& x) {
  if (is_fused(x)) {
    return fused_resampling(
        x, {.down = 2, .padding = 1, .height = x.size(2) / 2, .width = x.size(3) / 2});
  }
  return at::conv2d(x, interpolation(x, 1.0), {}, /*stride=*/2, /*padding=*/1, /*dilation=*/1,
                    /*groups=*/x.size(1));
}

variable_list Upsampling::backward(AutogradContext* /*context*/, const variable_list& gradients) {
  return {Downsampling::apply(gradients.front()) * kPixels};
}

variable_list Downsampling::backward(AutogradContext* /*context*/, const variable_list& gradients) {
  return {Upsampling::apply(gradients.front()) / kPixels};
}

at::Tensor Smoothing::forward(AutogradContext* context, const at::Tensor& x, std::int64_t padding,
                              double factor) {
  context->saved_data["padding"] = padding;
  context->saved_data["factor"] = factor;
  if (is_fused(x)) {
    return fused_resampling(x, {.padding = padding,
                                .height = x.size(2) + 2 * padding - 3,
                                .width = x.size(3) + 2 * padding - 3,
                                .gain = factor});
  }
  return at::conv2d(x, interpolation(x, factor), {}, /*stride=*/1, padding, /*dilation=*/1,
                    /*groups=*/x.size(1));
}

variable_list Smoothing::backward(AutogradContext* context, const variable_list& gradients) {
  const std::int64_t padding = context->saved_data["padding"].toInt();
  const double factor = context->saved_data["factor"].toDouble();
  return {Smoothing::apply(gradients.front(), 3 - padding, factor), at::Tensor(), at::Tensor()};
}

}  // namespace

at::Tensor upsampled(const at::Tensor& x) { return Upsampling::apply(x); }

at::Tensor downsampled(const at::Tensor& x) { return Downsampling::apply(x); }

at::Tensor smoothed(const at::Tensor& x, std::int64_t padding, double factor) {
  return Smoothing::apply(x, padding, factor);
}

NamedTensors ResidualBlock::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  at::Tensor y = at::conv2d(x, expand_weight_->tensor, expand_bias_->tensor);
  y = at::leaky_relu_(y, kLeakySlope);
  y = at::conv2d(y, grouped_weight_->tensor, grouped_bias_->tensor, /*stride=*/1, /*padding=*/1,
                 /*dilation=*/1, spec().groups);
  y = at::leaky_relu_(y, kLeakySlope);
  // The first summand sets the memory format: the weights' format, even if noise gave `x` another.
  return in.with("features", at::conv2d(y, contract_weight_->tensor) + x);
}

NamedTensors ResamplingBlock::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  return in.with("features", spec().direction == Resampling::kUp
                                 ? Upsampling::apply(with_channels(x))
                                 : with_channels(Downsampling::apply(x)));
}

at::Tensor ResamplingBlock::with_channels(const at::Tensor& x) const {
  return weight_ == nullptr ? x : at::conv2d(x, weight_->tensor);
}

NamedTensors GenerativeBasis::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor strengths = at::linear(in.at("noise"), weight_->tensor);
  return in.with("features", basis_->tensor * strengths.unsqueeze(2).unsqueeze(3));
}

NamedTensors DiscriminativeBasis::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor strengths = (in.at("features") * basis_->tensor).sum({2, 3});
  return in.with("features", at::linear(strengths, weight_->tensor));
}

}  // namespace gangway::gan
