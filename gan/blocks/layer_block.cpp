// SPDX-License-Identifier: MIT
#include "gan/blocks/layer_block.hpp"

#include "gan/random_tensors.hpp"

namespace gangway::gan {

namespace {

std::vector<std::int64_t> shape_of_batch(const at::Tensor& x,
                                         const std::vector<std::int64_t>& example) {
  std::vector<std::int64_t> shape{x.size(0)};
  shape.insert(shape.end(), example.begin(), example.end());
  return shape;
}

}  // namespace

LayerBlock::LayerBlock(LayerSpec spec)
    : Block(ports_of(spec), parameters_of(spec), statistics_of(spec)),
      spec_(std::move(spec)),
      weight_(parameter("weight")),
      bias_(parameter("bias")),
      norm_weight_(parameter("norm.weight")),
      norm_bias_(parameter("norm.bias")),
      mean_(statistic("norm.running_mean")),
      variance_(statistic("norm.running_var")) {}

NamedTensors LayerBlock::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor x = in.at(spec_.input);
  if (!spec_.input_shape.empty()) {
    x = x.reshape(shape_of_batch(x, spec_.input_shape));
  }
  x = apply_linear(x);
  if (spec_.batch_norm) {
    x = apply_norm(x, context);
  }
  x = apply_activation(std::move(x));
  if (spec_.dropout > 0.0 && context.mode == Mode::kTraining) {
    RandomKey key = context.key;
    key.draw = static_cast<std::int32_t>(RandomDraw::kDropout);
    const at::Tensor keep = keyed_uniform(key, x.sizes(), x.device()).ge(spec_.dropout);
    x = x * keep.to(x.scalar_type()).mul_(1.0 / (1.0 - spec_.dropout));
  }
  if (!spec_.output_shape.empty()) {
    x = x.reshape(shape_of_batch(x, spec_.output_shape));
  }
  return in.with(spec_.output, std::move(x));
}

at::Tensor LayerBlock::apply_linear(const at::Tensor& x) const {
  const std::optional<at::Tensor> bias =
      bias_ != nullptr ? std::optional(bias_->tensor) : std::nullopt;
  switch (spec_.kind) {
    case LayerKind::kLinear:
      return at::linear(x, weight_->tensor, bias);
    case LayerKind::kConvolution:
      return at::conv2d(x, weight_->tensor, bias, spec_.stride, spec_.padding);
    case LayerKind::kTransposedConvolution:
      return at::conv_transpose2d(x, weight_->tensor, bias, spec_.stride, spec_.padding);
  }
  return x;
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
  // Momentum 1 on zeroed values leaves just this micro-batch's mean and unbiased variance in them.
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
  switch (spec_.activation) {
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

std::unique_ptr<Block> make_block(const LayerSpec& spec) {
  return std::make_unique<LayerBlock>(spec);
}

}  // namespace gangway::gan
