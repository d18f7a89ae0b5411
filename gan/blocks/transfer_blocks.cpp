// SPDX-License-Identifier: MIT
#include "gan/blocks/transfer_blocks.hpp"

#include <utility>

#include "gan/blocks/layer_block.hpp"

namespace gangway::gan {
namespace {

/// Adds mirrored pixels on both ends of `dim`, without LibTorch's reflection padding because its
/// gradients sum in any order on a GPU.
at::Tensor reflected_along(const at::Tensor& x, std::int64_t dim, std::int64_t pixels) {
  const std::int64_t size = x.size(dim);
  return at::cat(
      {x.narrow(dim, 1, pixels).flip(dim), x, x.narrow(dim, size - 1 - pixels, pixels).flip(dim)},
      dim);
}

/// Convolves; the size of `x` changes by the stride only.
at::Tensor convolved(const at::Tensor& x, const TransferConvolution& with, std::int64_t stride) {
  const at::Tensor& weight = with.weight->tensor;
  const at::Tensor y =
      at::conv2d(reflected(x, weight.size(3) / 2), weight, with.bias->tensor, stride);
  return with.gain == nullptr
             ? y
             : at::instance_norm(y, with.gain->tensor, with.shift->tensor, {}, {},
                                 /*use_input_stats=*/true, kStatisticMomentum, kNormEpsilon,
                                 /*cudnn_enabled=*/true);
}

}  // namespace

at::Tensor reflected(const at::Tensor& x, std::int64_t pixels) {
  return pixels == 0 ? x : reflected_along(reflected_along(x, 2, pixels), 3, pixels);
}

NamedTensors TransferLayer::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& taken = in.at(spec().input);
  const at::Tensor x = spec().doubles ? at::upsample_nearest2d(
                                            taken, {2 * taken.size(2), 2 * taken.size(3)}, 2.0, 2.0)
                                      : taken;
  at::Tensor y = convolved(x, convolution_, spec().stride);
  if (spec().activation == Activation::kRelu) {
    y = at::relu(y);
  } else if (spec().activation == Activation::kTanh) {
    y = at::tanh(y);
  }
  return in.with("features", std::move(y));
}

NamedTensors TransferResidual::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  const at::Tensor y = at::relu(convolved(x, first_, /*stride=*/1));
  return in.with("features", convolved(y, second_, /*stride=*/1) + x);
}

NamedTensors FeatureLevel::forward(const NamedTensors& in, const ForwardContext&) {
  at::Tensor x = in.at(ports().inputs.front());
  if (x.size(1) != spec().in) {
    x = x.mean({1}, /*keepdim=*/true);  // a colour picture for a network of gray pictures
  }
  if (spec().pools) {
    x = at::max_pool2d(x, {2, 2});
  }
  const at::Tensor y =
      at::relu(at::conv2d(x, weight_->tensor, bias_->tensor, /*stride=*/1, spec().kernel / 2));
  return in.with("features", y).with(ports().outputs.back(), y);
}

}  // namespace gangway::gan
