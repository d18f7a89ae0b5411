// SPDX-License-Identifier: MIT
#include "gan/blocks/transformer_blocks.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "gan/blocks/label_blocks.hpp"
#include "gan/precision.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// Divides by the root of the mean square over the last axis (Zhang and Sennrich, 2019).
at::Tensor rms_normalized(const at::Tensor& x, double epsilon) {
  const at::Tensor wide = widened(x);
  return in_type_of(x, wide * (wide.square().mean({-1}, /*keepdim=*/true) + epsilon).rsqrt());
}

/// Cuts [N, channels, H, W] into [N, patches, channels * patch * patch], row by row.
at::Tensor in_patches(const at::Tensor& pictures, std::int64_t side, std::int64_t patch) {
  const std::int64_t channels = pictures.size(1);
  return pictures.reshape({-1, channels, side, patch, side, patch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({-1, side * side, channels * patch * patch});
}

/// Inverts in_patches.
at::Tensor of_patches(const at::Tensor& patches, std::int64_t side, std::int64_t patch,
                      std::int64_t channels) {
  return patches.reshape({-1, side, side, channels, patch, patch})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape({-1, channels, side * patch, side * patch});
}

/// Returns the share of noise in the picture `behind` places before the last: 0.01, 0.51, 0.76,
/// 0.885. The picture's share, except for 0.01, halves from each picture to the one before (GAT's
/// authors' code).
double noise_share(int behind) { return 1.01 - std::ldexp(1.0, -behind); }

}  // namespace

at::Tensor TokenBlock::LinearMap::of(const at::Tensor& x, double rate) const {
  return rate == 1.0 ? at::linear(x, weight->tensor, bias->tensor)
                     : at::linear(x, weight->tensor * rate, bias->tensor * rate);
}

TokenBlock::LinearMap TokenBlock::linear(const std::string& name) {
  return {parameter(name + ".weight"), parameter(name + ".bias")};
}

NamedTensors TokenStyle::forward(const NamedTensors& in, const ForwardContext&) {
  at::Tensor x = rms_normalized(in.at("noise"), kStyleEpsilon);
  if (embedding_ != nullptr) {
    const at::Tensor label = embedded(in.at("labels"), embedding_->tensor);
    x = at::cat({rms_normalized(label, kStyleEpsilon), x}, 1);
  }
  return in.with("style", second_.of(at::silu(first_.of(x, kStyleRate)), kStyleRate));
}

NamedTensors TokenGrid::forward(const NamedTensors& in, const ForwardContext&) {
  return in.with("features", positions_->tensor.repeat({in.at("style").size(0), 1, 1}));
}

NamedTensors TransformerBlock::forward(const NamedTensors& in, const ForwardContext&) {
  const Gains gain = gains(in);
  at::Tensor x = in.at("features");
  x = x +
      gain.behind_attention * attention(rms_normalized(x, kTokenEpsilon) * gain.before_attention);
  x = x + gain.behind_mlp * mlp(rms_normalized(x, kTokenEpsilon) * gain.before_mlp);
  return in.with("features", std::move(x));
}

TransformerBlock::Gains TransformerBlock::gains(const NamedTensors& in) const {
  if (spec().style == 0) {
    return {before_attention_->tensor, behind_attention_->tensor, before_mlp_->tensor,
            behind_mlp_->tensor};
  }
  const std::vector<at::Tensor> of_style =
      style_.of(at::silu(in.at("style"))).unsqueeze(1).chunk(4, 2);
  return {of_style[0] + 1.0, of_style[1], of_style[2] + 1.0, of_style[3]};
}

at::Tensor TransformerBlock::attention(const at::Tensor& x) const {
  const std::int64_t features = spec().width / spec().heads;
  const std::vector<at::Tensor> parts =
      taken_.of(x)
          .reshape({x.size(0), x.size(1), 3, spec().heads, features})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  const at::Tensor query = rms_normalized(parts[0], kTokenEpsilon) * query_gain_->tensor;
  const at::Tensor key = rms_normalized(parts[1], kTokenEpsilon) * key_gain_->tensor;
  const double scale = 1.0 / std::sqrt(static_cast<double>(features));
  const at::Tensor shares = at::softmax(at::matmul(query * scale, key.transpose(2, 3)), -1);
  return joined_.of(at::matmul(shares, parts[2]).transpose(1, 2).reshape(x.sizes()));
}

at::Tensor TransformerBlock::mlp(const at::Tensor& x) const {
  const std::vector<at::Tensor> halves = expand_.of(x).chunk(2, 2);
  return contract_.of(at::silu(halves[0]) * halves[1]);
}

NamedTensors PatchPicture::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor gain = style_.of(at::silu(in.at("style"))) + 1.0;
  const at::Tensor x = rms_normalized(in.at("features"), kTokenEpsilon) * gain.unsqueeze(1);
  at::Tensor pictures =
      of_patches(widened(picture_.of(x)), spec().side, spec().patch, spec().channels);
  if (spec().depth > 0) {
    const at::Tensor& before = in.at("pictures");
    const at::Tensor sum = before.slice(1, -spec().channels) + pictures;
    pictures =
        spec().is_last && context.mode == Mode::kEvaluation ? sum : at::cat({before, sum}, 1);
  }
  return in.with(spec().is_last ? "features" : "pictures", std::move(pictures));
}

NamedTensors PatchEmbedding::forward(const NamedTensors& in, const ForwardContext& context) {
  at::Tensor pictures = in.at("image");
  if (pictures.size(1) == spec().channels) {
    pictures = pictures.repeat({1, spec().depths, 1, 1});
  }
  if (context.mode == Mode::kTraining) {
    pictures = noised(pictures, context.key);
  }
  const at::Tensor patches = in_patches(pictures, spec().side, spec().patch);
  const at::Tensor tokens = patch_.of(patches) + positions_->tensor;
  const at::Tensor token = token_->tensor.repeat({tokens.size(0), 1, 1});
  return in.with("features", at::cat({token, tokens}, 1));
}

at::Tensor PatchEmbedding::noised(const at::Tensor& pictures, RandomKey key) const {
  key.draw = static_cast<std::int32_t>(RandomDraw::kDepthNoise);
  const at::Tensor steps =
      keyed_normal(key, pictures.sizes(), pictures.device()).to(pictures.scalar_type());
  std::vector<at::Tensor> results(static_cast<std::size_t>(spec().depths));
  at::Tensor walk;
  double before = 0.0;  // share of the next depth
  for (int behind = 0; behind < spec().depths; ++behind) {
    const int depth = spec().depths - 1 - behind;
    const double share = noise_share(behind);
    const double kept = (1.0 - share) / (1.0 - before);
    // Makes the walk's deviation equal `share`.
    const double stride = std::sqrt(share * share - before * before * kept * kept);
    const auto of_depth = [&](const at::Tensor& all) {
      return all.narrow(1, depth * spec().channels, spec().channels);
    };
    const at::Tensor step = of_depth(steps) * stride;
    walk = walk.defined() ? walk * kept + step : step;
    results[static_cast<std::size_t>(depth)] = of_depth(pictures) * (1.0 - share) + walk;
    before = share;
  }
  return at::cat(results, 1);
}

NamedTensors TokenHead::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor x =
      rms_normalized(in.at("features").select(1, 0), kTokenEpsilon) * before_->tensor;
  return in.with("features", head_.of(x));
}

}  // namespace gangway::gan
