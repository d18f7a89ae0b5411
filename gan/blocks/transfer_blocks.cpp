// SPDX-License-Identifier: MIT
#include "gan/blocks/transfer_blocks.hpp"

#include <string>

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

TransferLayer::TransferLayer(const TransferLayerSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)),
      spec_(spec),
      convolution_{parameter("weight"), parameter("bias"), parameter("norm.weight"),
                   parameter("norm.bias")} {}

NamedTensors TransferLayer::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& taken = in.at(spec_.input);
  const at::Tensor x = spec_.doubles ? at::upsample_nearest2d(
                                           taken, {2 * taken.size(2), 2 * taken.size(3)}, 2.0, 2.0)
                                     : taken;
  at::Tensor y = convolved(x, convolution_, spec_.stride);
  if (spec_.activation == Activation::kRelu) {
    y = at::relu(y);
  } else if (spec_.activation == Activation::kTanh) {
    y = at::tanh(y);
  }
  return in.with("features", std::move(y));
}

TransferResidual::TransferResidual(const TransferResidualSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)),
      first_{parameter("first.weight"), parameter("first.bias"), parameter("first_norm.weight"),
             parameter("first_norm.bias")},
      second_{parameter("second.weight"), parameter("second.bias"), parameter("second_norm.weight"),
              parameter("second_norm.bias")} {}

NamedTensors TransferResidual::forward(const NamedTensors& in, const ForwardContext&) {
  const at::Tensor& x = in.at("features");
  const at::Tensor y = at::relu(convolved(x, first_, /*stride=*/1));
  return in.with("features", convolved(y, second_, /*stride=*/1) + x);
}

FeatureLevel::FeatureLevel(const FeatureLevelSpec& spec)
    : Block(ports_of(spec), parameters_of(spec)),
      spec_(spec),
      weight_(parameter("weight")),
      bias_(parameter("bias")) {}

NamedTensors FeatureLevel::forward(const NamedTensors& in, const ForwardContext&) {
  at::Tensor x = in.at(ports().inputs.front());
  if (x.size(1) != spec_.in) {
    x = x.mean({1}, /*keepdim=*/true);  // a colour picture for a network of gray pictures
  }
  if (spec_.pools) {
    x = at::max_pool2d(x, {2, 2});
  }
  const at::Tensor y =
      at::relu(at::conv2d(x, weight_->tensor, bias_->tensor, /*stride=*/1, spec_.kernel / 2));
  return in.with("features", y).with(ports().outputs.back(), y);
}

std::unique_ptr<Block> make_block(const TransferLayerSpec& spec) {
  return std::make_unique<TransferLayer>(spec);
}

std::unique_ptr<Block> make_block(const TransferResidualSpec& spec) {
  return std::make_unique<TransferResidual>(spec);
}

std::unique_ptr<Block> make_block(const FeatureLevelSpec& spec) {
  return std::make_unique<FeatureLevel>(spec);
}

}  // namespace gangway::gan
