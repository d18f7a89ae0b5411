// SPDX-License-Identifier: MIT
#include "gan/evaluation/lenet.hpp"

#include "base/errors.hpp"
#include "gan/blocks/layer_block.hpp"
#include "job/blocks/initial_deviation.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kPadding = 2;  // pixels a side between 28 and 32
constexpr std::size_t kHead = 5;      // index of the last block

/// Halves the picture by the maximum of 2x2 pixels.
class MaxPool final : public Block {
 public:
  MaxPool() : Block({{"features"}, {"features"}}) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext&) override {
    return in.with("features", at::max_pool2d(in.at("features"), {2, 2}));
  }
};

/// Returns a layer with initial weights of variance 1 / fan-in (LeCun et al., 1998, "Efficient
/// BackProp", eq. 16).
std::unique_ptr<Block> layer(LayerSpec spec) {
  const std::int64_t fan_in =
      spec.kind == LayerKind::kLinear ? spec.in : spec.in * spec.kernel * spec.kernel;
  spec.initial_scale = deviation(1.0, fan_in);
  spec.bias = true;
  return std::make_unique<LayerBlock>(spec);
}

Network make_network() {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(layer({.kind = LayerKind::kConvolution,
                          .in = 1,
                          .out = 16,
                          .kernel = 5,
                          .stride = 1,
                          .padding = 2,
                          .activation = Activation::kRelu,
                          .input = "image"}));
  blocks.push_back(std::make_unique<MaxPool>());
  blocks.push_back(layer({.kind = LayerKind::kConvolution,
                          .in = 16,
                          .out = 32,
                          .kernel = 5,
                          .stride = 1,
                          .padding = 2,
                          .activation = Activation::kRelu}));
  blocks.push_back(std::make_unique<MaxPool>());
  constexpr std::int64_t kPooled = std::int64_t{32} * 7 * 7;
  blocks.push_back(layer({.in = kPooled,
                          .out = LeNet::kFeatures,
                          .activation = Activation::kRelu,
                          .input_shape = {kPooled}}));
  blocks.push_back(layer({.in = LeNet::kFeatures, .out = LeNet::kClasses}));
  return {"features", std::move(blocks)};
}

}  // namespace

LeNet::LeNet() : network_(make_network()) {}

at::Tensor LeNet::features(const at::Tensor& images) {
  NamedTensors flow{{"image", images}};
  for (std::size_t block = 0; block < kHead; ++block) {
    flow = network_.forward_block(block, flow, {});
  }
  return flow.at("features");
}

at::Tensor LeNet::logits(const at::Tensor& features) {
  return network_.forward_block(kHead, {{"features", features}}, {}).at("features");
}

at::Tensor lenet_input(const at::Tensor& images) {
  at::Tensor x = images.size(1) == 1 ? images : images.mean({1}, /*keepdim=*/true);
  constexpr std::int64_t kPadded = LeNet::kSide + 2 * kPadding;
  if (const std::int64_t scale = x.size(3) / kPadded;
      scale > 1 && x.size(2) == scale * kPadded && x.size(3) == scale * kPadded) {
    x = at::avg_pool2d(x, {scale, scale});
  }
  if (x.size(3) == kPadded) {
    x = x.slice(2, kPadding, kPadding + LeNet::kSide).slice(3, kPadding, kPadding + LeNet::kSide);
  }
  if (x.size(2) != LeNet::kSide || x.size(3) != LeNet::kSide) {
    throw ConfigError("FD-LeNet takes pictures of 28 pixels or of multiples of 32, not " +
                      std::to_string(images.size(3)) + "; it cannot score this job");
  }
  return x.contiguous();
}

}  // namespace gangway::gan
