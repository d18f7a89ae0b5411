// SPDX-License-Identifier: MIT
#include "gan/blocks/style_blocks.hpp"

#include <cmath>
#include <utility>

#include "gan/blocks/residual_blocks.hpp"
#include "gan/layer_noise.hpp"
#include "gan/precision.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// Output pixels per input pixel at stride 2. Smoothing keeps sums, so the mean falls as much.
constexpr double kPixelsOfOne = 4.0;

/// Reshapes [N, channels] to factors of `maps` [N, channels, H, W], in their type.
at::Tensor for_maps(const at::Tensor& factors, const at::Tensor& maps) {
  return in_type_of(maps, factors).unsqueeze(2).unsqueeze(3);
}

/// Divides `x` by its largest absolute value along `axes`, as a constant because a later
/// normalisation cancels it. This keeps squares and products within fp16's range (StyleGAN2-ADA,
/// the authors' code, modulated_conv2d).
at::Tensor over_largest(const at::Tensor& x, at::IntArrayRef axes) {
  const at::Tensor largest = x.detach().abs().amax(axes, /*keepdim=*/true);
  return x / largest.clamp_min(kStyleNormEpsilon);
}

/// Returns the factors [N, out] that give output maps deviation one (Karras et al., 2020, eq. 3),
/// from factors [N, in] and weights [out, in, k, k]. In float32.
at::Tensor demodulation(const at::Tensor& factors, const at::Tensor& weight) {
  const FullPrecision in_float32;
  // Squares of the scaled weights, summed over all but the output maps.
  const at::Tensor squares = at::linear(factors.square(), weight.square().sum({2, 3}));
  return (squares + kStyleNormEpsilon).rsqrt();
}

RandomKey with_draw(RandomKey key, RandomDraw draw) {
  key.draw = static_cast<std::int32_t>(draw);
  return key;
}

}  // namespace

NamedTensors StyleMapping::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor label;
  if (spec().classes > 0) {
    label = embedded_label(in.at("labels"), embedding_);
  }
  at::Tensor styles = mapped(in.at("noise"), label).unsqueeze(1).repeat({1, spec().count, 1});
  if (context.mode == Mode::kTraining && spec().mixing > 0.0) {
    styles = mixed(styles, label, context.key);
  }
  return in.with(kStyles, std::move(styles));
}

at::Tensor StyleMapping::mapped(const at::Tensor& noise, const at::Tensor& label) const {
  const at::Tensor x = of_unit_mean_square(noise);
  return mapping_.of(label.defined() ? at::cat({x, label}, 1) : x);
}

at::Tensor StyleMapping::mixed(const at::Tensor& styles, const at::Tensor& label,
                               RandomKey key) const {
  const std::int64_t count = styles.size(0);
  const at::Tensor noise = keyed_normal(with_draw(key, RandomDraw::kStyleNoise),
                                        {count, spec().latent}, styles.device());
  const at::Tensor other = mapped(noise.to(styles.scalar_type()), label);
  const at::Tensor chance =
      keyed_uniform(with_draw(key, RandomDraw::kStyleCut), {count, 2}, styles.device());
  const at::Tensor is_mixed = chance.select(1, 0) < spec().mixing;
  // Draws uniformly one of the places except the first.
  const at::Tensor first =
      (chance.select(1, 1) * static_cast<double>(spec().count - 1)).floor() + 1.0;
  const at::Tensor places = at::arange(spec().count, chance.options());
  const at::Tensor is_other =
      (places >= first.unsqueeze(1)).logical_and(is_mixed.unsqueeze(1));  // [N, count]
  return at::where(is_other.unsqueeze(2), other.unsqueeze(1), styles);
}

NamedTensors StyleConstant::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("features", constant_->tensor.repeat({in.at(kStyles).size(0), 1, 1, 1}));
}

NamedTensors StyleLayer::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor& features = in.at("features");
  at::Tensor factors = factors_.of(in.at(kStyles).select(1, spec().index));  // [N, in]
  at::Tensor weight = weight_->tensor;
  if (context.precision == Precision::kFp16) {
    factors = over_largest(factors, {1});
    weight = over_largest(weight, {1, 2, 3}) *
             std::sqrt(static_cast<double>(weight.size(0)) / static_cast<double>(weight.numel()));
  }
  const at::Tensor demodulating = demodulation(factors, weight);
  at::Tensor x = convolved(features * for_maps(factors, features), weight);
  x = x * for_maps(demodulating, x);
  x = x + noise(x, context) * in_type_of(x, noise_strength_->tensor);
  return in.with("features", style_activated(x, bias_->tensor));
}

at::Tensor StyleLayer::convolved(const at::Tensor& x, const at::Tensor& weight) const {
  if (!spec().doubles) {
    return at::conv2d(x, weight, {}, /*stride=*/1, /*padding=*/1);
  }
  const at::Tensor turned = weight.transpose(0, 1).contiguous(weight.suggest_memory_format());
  const at::Tensor apart = at::conv_transpose2d(x, turned, {}, /*stride=*/2);  // a pixel too large
  return smoothed(apart, /*padding=*/1, kPixelsOfOne);
}

at::Tensor StyleLayer::noise(const at::Tensor& like, const ForwardContext& context) const {
  const bool is_training = context.mode == Mode::kTraining;
  if (!is_training && stored_noise_ != nullptr) {
    return stored_noise_->running.reshape({1, 1, spec().side, spec().side}).to(like.scalar_type());
  }
  const at::Tensor drawn =
      keyed_normal(is_training ? with_draw(context.key, RandomDraw::kLayerNoise)
                               : constant_noise_key(context.key.block),
                   {is_training ? like.size(0) : 1, 1, spec().side, spec().side}, like.device());
  return drawn.to(like.scalar_type());
}

NamedTensors StylePicture::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor factors =
      factors_.of(in.at(kStyles).select(1, spec().index)) * equalizing_gain(weight_->tensor);
  const at::Tensor& features = in.at("features");
  at::Tensor picture = widened(clamped_if_half(
      at::conv2d(features * for_maps(factors, features), weight_->tensor, bias_->tensor)));
  if (!spec().is_first) {
    const FullPrecision in_float32;  // pictures add up
    picture = upsampled(in.at("picture")) + picture;
  }
  return in.with(spec().is_last ? "features" : "picture", std::move(picture));
}

}  // namespace gangway::gan
