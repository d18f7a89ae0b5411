// SPDX-License-Identifier: MIT
#include "gan/blocks/progressive_blocks.hpp"

#include <cmath>
#include <utility>

#include "gan/blocks/label_blocks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

/// Normalises features [N, channels, …] over the channels.
at::Tensor pixel_normalized(const at::Tensor& x) {
  const at::Tensor wide = widened(x);
  return in_type_of(x, wide * (wide.square().mean({1}, /*keepdim=*/true) + kPixelEpsilon).rsqrt());
}

/// Works in place: `x` is a layer's fresh output, without another reference.
at::Tensor activated(at::Tensor x) { return at::leaky_relu_(x, kLeakySlope); }

/// Repeats each pixel of [N, channels, H, H] up to `side` pixels.
at::Tensor repeated_to(const at::Tensor& x, std::int64_t side) {
  return x.size(2) == side ? x : at::upsample_nearest2d(x, {side, side});
}

/// Averages squares of pixels down to `side` pixels a side.
at::Tensor averaged_to(const at::Tensor& x, std::int64_t side) {
  return x.size(2) == side ? x : at::avg_pool2d(x, x.size(2) / side);
}

at::Tensor mixed(const at::Tensor& older, const at::Tensor& newer, double share) {
  return older * (1.0 - share) + newer * share;
}

/// Appends one map: the standard deviation over the examples, averaged to one number.
at::Tensor with_deviation_map(const at::Tensor& x) {
  const at::Tensor wide = widened(x);
  const at::Tensor apart = wide - wide.mean({0}, /*keepdim=*/true);
  const at::Tensor deviation = (apart.square().mean({0}) + kPixelEpsilon).sqrt().mean();
  return at::cat({x, deviation.reshape({1, 1, 1, 1}).expand({x.size(0), 1, x.size(2), x.size(3)})},
                 1);
}

}  // namespace

double equalised_scale(const at::Tensor& weight, double gain) {
  const std::int64_t fan_in = weight.numel() / weight.size(0);
  return gain / std::sqrt(static_cast<double>(fan_in));
}

at::Tensor ProgressiveBlock::Layer::linear(const at::Tensor& x, double gain) const {
  return at::linear(x, weight->tensor * equalised_scale(weight->tensor, gain), bias->tensor);
}

at::Tensor ProgressiveBlock::Layer::convolution(const at::Tensor& x, double gain,
                                                std::int64_t padding) const {
  return at::conv2d(x, weight->tensor * equalised_scale(weight->tensor, gain), bias->tensor,
                    /*stride=*/1, padding);
}

ProgressiveBlock::Layer ProgressiveBlock::layer(const std::string& name) {
  return {parameter(name + ".weight"), parameter(name + ".bias")};
}

NamedTensors ProgressiveStart::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor& weight = first_.weight->tensor;
  at::Tensor x = at::linear(pixel_normalized(in.at("noise")),
                            weight * equalised_scale(weight, kActivatedGain));
  x = x.reshape({-1, spec().channels, kFirstSide, kFirstSide}) +
      first_.bias->tensor.reshape({1, -1, 1, 1});
  x = pixel_normalized(activated(std::move(x)));
  x = pixel_normalized(activated(second_.convolution(x, kActivatedGain, 1)));
  const NamedTensors out = in.with("features", x);
  return spec().place.finer_share(context.growth) < 1.0
             ? out.with("picture", picture_.convolution(x, kPlainGain, 0))
             : out;
}

NamedTensors ProgressiveUp::forward(const NamedTensors& in, const ForwardContext& context) {
  const double share = spec().place.share(context.growth);
  if (share == 0.0) {
    return in;
  }
  const std::int64_t side = spec().place.side();
  at::Tensor x = repeated_to(in.at("features"), side);
  x = pixel_normalized(activated(first_.convolution(x, kActivatedGain, 1)));
  x = pixel_normalized(activated(second_.convolution(x, kActivatedGain, 1)));
  const NamedTensors out = in.with("features", x);
  if (spec().place.finer_share(context.growth) == 1.0) {
    return out;
  }
  const at::Tensor picture = picture_.convolution(x, kPlainGain, 0);
  return out.with("picture", share == 1.0
                                 ? picture
                                 : mixed(repeated_to(in.at("picture"), side), picture, share));
}

NamedTensors ProgressivePicture::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("features", repeated_to(in.at("picture"), spec().side));
}

at::Tensor ProgressiveJudge::incoming(const NamedTensors& in, const GrowingPart& place,
                                      double growth) const {
  const double finer = place.finer_share(growth);
  if (finer == 1.0) {
    return in.at("features");
  }
  const at::Tensor seen =
      activated(picture_.convolution(averaged_to(in.at("image"), place.side()), kActivatedGain, 0));
  return finer == 0.0 ? seen : mixed(seen, in.at("features"), finer);
}

NamedTensors ProgressiveDown::forward(const NamedTensors& in, const ForwardContext& context) {
  if (spec().place.share(context.growth) == 0.0) {
    return in;
  }
  at::Tensor x = incoming(in, spec().place, context.growth);
  x = activated(first_.convolution(x, kActivatedGain, 1));
  x = activated(second_.convolution(x, kActivatedGain, 1));
  return in.with("features", averaged_to(x, spec().place.side() / 2));
}

NamedTensors ProgressiveEnd::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor x = with_deviation_map(incoming(in, spec().place, context.growth));
  x = activated(first_.convolution(x, kActivatedGain, 1));
  x = activated(second_.linear(x.flatten(1), kActivatedGain));
  at::Tensor logits = logit_.linear(x, kPlainGain);
  if (embedding_ != nullptr) {
    const double scale = kPlainGain / std::sqrt(static_cast<double>(spec().channels));
    const at::Tensor label = embedded(in.at("labels"), embedding_->tensor) * scale;
    logits = logits + (widened(x) * label).sum({1}, /*keepdim=*/true);
  }
  return in.with("features", std::move(logits));
}

}  // namespace gangway::gan
