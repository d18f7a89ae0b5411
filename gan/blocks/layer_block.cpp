// SPDX-License-Identifier: MIT
#include "gan/blocks/layer_block.hpp"

#include "gan/kernels/fused_norm.hpp"
#include "gan/kernels/own_operators.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {

namespace {

std::vector<std::int64_t> shape_of_batch(const at::Tensor& x,
                                         const std::vector<std::int64_t>& example) {
  std::vector<std::int64_t> shape{x.size(0)};
  shape.insert(shape.end(), example.begin(), example.end());
  return shape;
}

/// Returns the slope below zero of an activation that is linear there and the identity above.
std::optional<double> slope_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return 1.0;
    case Activation::kRelu:
      return 0.0;
    case Activation::kLeakyRelu:
      return kLeakySlope;
    case Activation::kSoftplus:
    case Activation::kTanh:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

NamedTensors LayerBlock::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor x = finish(map(shaped_input(in), context), context);
  if (spec().dropout > 0.0 && context.mode == Mode::kTraining) {
    RandomKey key = context.key;
    key.draw = static_cast<std::int32_t>(RandomDraw::kDropout);
    const at::Tensor keep = keyed_uniform(key, x.sizes(), x.device()).ge(spec().dropout);
    x = x * keep.to(x.scalar_type()).mul_(1.0 / (1.0 - spec().dropout));
  }
  if (!spec().output_shape.empty()) {
    x = x.reshape(shape_of_batch(x, spec().output_shape));
  }
  return in.with(spec().output, std::move(x));
}

at::Tensor LayerBlock::shaped_input(const NamedTensors& in) const {
  const at::Tensor& x = in.at(spec().input);
  return spec().input_shape.empty() ? x : x.reshape(shape_of_batch(x, spec().input_shape));
}

at::Tensor LayerBlock::finish(at::Tensor x, const ForwardContext& context) const {
  if (std::optional<at::Tensor> fused = apply_fused(x, context)) {
    return *std::move(fused);
  }
  if (spec().batch_norm) {
    x = apply_norm(x, context);
  }
  return apply_activation(std::move(x));
}

at::Tensor LayerBlock::map(const at::Tensor& x, const ForwardContext& context) const {
  const OwnOperators own(context.derivatives == Derivatives::kFirst ? Owned::kAll
                                                                    : Owned::kConvolutions);
  const std::optional<at::Tensor> bias =
      bias_ != nullptr ? std::optional(bias_->tensor) : std::nullopt;
  if (spec().kind == LayerKind::kLinear) {
    return at::linear(x, weight_->tensor, bias);
  }
  return spec().kind == LayerKind::kConvolution
             ? at::conv2d(x, weight_->tensor, bias, spec().stride, spec().padding)
             : at::conv_transpose2d(x, weight_->tensor, bias, spec().stride, spec().padding);
}

std::optional<at::Tensor> LayerBlock::apply_fused(const at::Tensor& x,
                                                  const ForwardContext& context) const {
  const std::optional<double> slope = slope_of(spec().activation);
  if (!spec().batch_norm || !slope || context.mode == Mode::kEvaluation ||
      context.derivatives != Derivatives::kFirst || !can_norm(x, norm_weight_->tensor)) {
    return std::nullopt;
  }
  NormedFeatures made =
      normed_and_activated(x, norm_weight_->tensor, norm_bias_->tensor, kNormEpsilon, *slope);
  if (context.sink != nullptr) {
    context.sink->take(*mean_, made.mean);
    context.sink->take(*variance_, made.variance);
  }
  return std::move(made.features);
}

at::Tensor LayerBlock::apply_norm(const at::Tensor& x, const ForwardContext& context) const {
  if (context.mode == Mode::kEvaluation) {
    return at::batch_norm(x, norm_weight_->tensor, norm_bias_->tensor, mean_->running,
                          variance_->running, false, kStatisticMomentum, kNormEpsilon, true);
  }
  if (context.sink == nullptr) {
    return at::batch_norm(x, norm_weight_->tensor, norm_bias_->tensor, {}, {}, true,
                          kStatisticMomentum, kNormEpsilon, true);
  }
  // Momentum 1 on zeros yields exactly this micro-batch's mean and unbiased variance.
  const at::Tensor zeros = at::zeros({2, mean_->running.numel()}, mean_->running.options());
  at::Tensor mean = zeros.select(0, 0);
  at::Tensor variance = zeros.select(0, 1);
  at::Tensor y = at::batch_norm(x, norm_weight_->tensor, norm_bias_->tensor, mean, variance, true,
                                1.0, kNormEpsilon, true);
  context.sink->take(*mean_, mean);
  context.sink->take(*variance_, variance);
  return y;
}

at::Tensor LayerBlock::apply_activation(at::Tensor x) const {
  switch (spec().activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x.relu_();
    case Activation::kLeakyRelu:
      return at::leaky_relu_(x, kLeakySlope);
    case Activation::kSoftplus:
      return at::softplus(x);
    case Activation::kTanh:
      return x.tanh_();
  }
  return x;
}

}  // namespace gangway::gan
