// SPDX-License-Identifier: MIT
#include "gan/blocks/spectral_blocks.hpp"

#include <optional>
#include <utility>

#include "gan/blocks/label_blocks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

at::Tensor unit(const at::Tensor& vector) {
  return vector / vector.norm().clamp_min(kSpectralFloor);
}

/// Repeats each pixel four times: [N, C, H, W] → [N, C, 2 H, 2 W].
at::Tensor doubled(const at::Tensor& x) {
  return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
}

at::Tensor halved(const at::Tensor& x) { return at::avg_pool2d(x, {2, 2}); }

/// Takes the maximum of 2x2 pixels: [N, C, H, W] → [N, C, H / 2 * W / 2]. Not max_pool2d: its
/// gradient on CUDA sums in no fixed order.
at::Tensor largest_of_four(const at::Tensor& x) {
  return x.reshape({x.size(0), x.size(1), x.size(2) / 2, 2, x.size(3) / 2, 2})
      .amax({3, 5})
      .flatten(2);
}

/// [N, C] → [N, C, 1, 1].
at::Tensor for_all_pixels(const at::Tensor& x) { return x.unsqueeze(2).unsqueeze(3); }

}  // namespace

at::Tensor SpectralBlock::Map::normalized(const ForwardContext& context) const {
  const FullPrecision in_float32;
  const at::Tensor matrix = weight->tensor.flatten(1);
  at::Tensor left;
  at::Tensor right;
  {
    const at::NoGradGuard no_grad;
    right = unit(matrix.t().mv(direction->running.to(matrix.scalar_type())));
    left = unit(matrix.mv(right));
  }
  if (context.mode == Mode::kTraining && context.sink != nullptr) {
    context.sink->take(*direction, left);
  }
  const at::Tensor norm = left.dot(matrix.mv(right));
  return weight->tensor / norm.clamp_min(kSpectralFloor);
}

std::optional<at::Tensor> SpectralBlock::Map::added() const {
  return bias != nullptr ? std::optional(bias->tensor) : std::nullopt;
}

at::Tensor SpectralBlock::Map::linear(const at::Tensor& x, const ForwardContext& context) const {
  return at::linear(x, normalized(context), added());
}

at::Tensor SpectralBlock::Map::convolution(const at::Tensor& x,
                                           const ForwardContext& context) const {
  return at::conv2d(x, normalized(context), added(), /*stride=*/1,
                    /*padding=*/weight->tensor.size(3) / 2);
}

SpectralBlock::Map SpectralBlock::map(const std::string& name) {
  return {parameter(name + ".weight"), parameter(name + ".bias"), statistic(name + ".direction")};
}

at::Tensor SpectralBlock::Norm::of(const at::Tensor& x, const at::Tensor& condition,
                                   const ForwardContext& context) const {
  if (!condition.defined()) {
    return plain(x, context);
  }
  if (gains != nullptr) {
    return plain(x, context) * for_all_pixels(embedded(condition, gains->tensor) + 1.0) +
           for_all_pixels(embedded(condition, shifts->tensor));
  }
  const at::Tensor factor = gain.linear(condition, context) + 1.0;
  return plain(x, context) * for_all_pixels(factor) +
         for_all_pixels(shift.linear(condition, context));
}

at::Tensor SpectralBlock::Norm::plain(const at::Tensor& x, const ForwardContext& context) const {
  using Optional = std::optional<at::Tensor>;
  const Optional factors = weight != nullptr ? Optional(weight->tensor) : std::nullopt;
  const Optional added = bias != nullptr ? Optional(bias->tensor) : std::nullopt;
  if (context.mode == Mode::kEvaluation) {
    return at::batch_norm(x, factors, added, mean->running, variance->running, false,
                          kStatisticMomentum, kNormEpsilon, true);
  }
  // Without them, LibTorch would also round the statistics of two-byte maps.
  const bool takes_statistics = context.sink != nullptr || is_half_size(context.precision);
  if (!takes_statistics) {
    return at::batch_norm(x, factors, added, {}, {}, true, kStatisticMomentum, kNormEpsilon, true);
  }
  // Momentum 1 on zeros yields exactly this micro-batch's mean and unbiased variance.
  at::Tensor seen_mean = at::zeros_like(mean->running);
  at::Tensor seen_variance = at::zeros_like(variance->running);
  at::Tensor y =
      at::batch_norm(x, factors, added, seen_mean, seen_variance, true, 1.0, kNormEpsilon, true);
  if (context.sink != nullptr) {
    context.sink->take(*mean, seen_mean);
    context.sink->take(*variance, seen_variance);
  }
  return y;
}

SpectralBlock::Norm SpectralBlock::norm(const std::string& name) {
  return {map(name + "_gain"),
          map(name + "_shift"),
          parameter(name + "_gain.embedding"),
          parameter(name + "_shift.embedding"),
          parameter(name + ".weight"),
          parameter(name + ".bias"),
          statistic(name + ".running_mean"),
          statistic(name + ".running_var")};
}

NamedTensors SpectralStem::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor taken = in.at("noise").narrow(1, 0, spec().taken);
  return in.with(
      "features",
      linear_.linear(taken, context).reshape({-1, spec().channels, kStemSide, kStemSide}));
}

NamedTensors SharedEmbedding::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("style", embedded(in.at("labels"), embedding_->tensor));
}

NamedTensors SpectralUp::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor condition;
  if (spec().style > 0) {
    condition = in.at("style");
  }
  if (spec().taken > 0) {
    condition = at::cat({condition, in.at("noise").narrow(1, spec().first, spec().taken)}, 1);
  }
  if (spec().classes > 0) {
    condition = in.at("labels");
  }
  const at::Tensor& x = in.at("features");
  at::Tensor y = doubled(first_norm_.of(x, condition, context).relu_());
  y = first_.convolution(y, context);
  y = second_.convolution(second_norm_.of(y, condition, context).relu_(), context);
  // Convolves before doubling: the result is the same, on smaller maps.
  return in.with("features", y + doubled(shortcut_.convolution(x, context)));
}

NamedTensors SpectralPicture::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor y = norm_.of(in.at("features"), {}, context).relu_();
  return in.with("features", picture_.convolution(y, context).tanh_());
}

NamedTensors SpectralDown::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor x = in.at(spec().is_first ? "image" : "features");
  at::Tensor y = first_.convolution(spec().is_first ? x : x.relu(), context);
  y = second_.convolution(y.relu_(), context);
  if (spec().halves) {
    x = halved(x);
    y = halved(y);
  }
  return in.with("features",
                 y + (shortcut_.weight != nullptr ? shortcut_.convolution(x, context) : x));
}

NamedTensors SpectralAttention::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor& x = in.at("features");
  const at::Tensor query = query_.convolution(x, context).flatten(2).transpose(1, 2);
  const at::Tensor key = largest_of_four(key_.convolution(x, context));
  const at::Tensor value = largest_of_four(value_.convolution(x, context));
  const at::Tensor shares = at::softmax(at::matmul(query, key), -1);  // [N, H W, H W / 4]
  const at::Tensor told = at::matmul(value, shares.transpose(1, 2));
  const at::Tensor maps = told.reshape({x.size(0), -1, x.size(2), x.size(3)});
  return in.with("features", x + gain_->tensor * joined_.convolution(maps, context));
}

NamedTensors SpectralHead::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor sums = widened(in.at("features").relu()).sum({2, 3});
  at::Tensor logits = linear_.linear(sums, context);
  if (spec().classes > 0) {
    const at::Tensor direction = embedded(in.at("labels"), embedding_.normalized(context));
    logits = logits + (direction * sums).sum(1, true);
  }
  return in.with("features", std::move(logits));
}

}  // namespace gangway::gan
