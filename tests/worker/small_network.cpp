// SPDX-License-Identifier: MIT
#include "tests/worker/small_network.hpp"

#include <cstring>

#include "gan/blocks/layer_block.hpp"

namespace gangway::worker {

gan::Network small_network(const std::string& name, std::int64_t channels) {
  std::vector<std::unique_ptr<gan::Block>> blocks;
  blocks.push_back(std::make_unique<gan::LayerBlock>(LayerSpec{.kind = LayerKind::kConvolution,
                                                               .in = 3,
                                                               .out = channels,
                                                               .kernel = 3,
                                                               .stride = 1,
                                                               .batch_norm = true,
                                                               .activation = Activation::kSoftplus,
                                                               .input = "image"}));
  blocks.push_back(std::make_unique<gan::LayerBlock>(LayerSpec{.in = channels * 64,
                                                               .out = 5,
                                                               .bias = true,
                                                               .activation = Activation::kSoftplus,
                                                               .input_shape = {channels * 64}}));
  blocks.push_back(std::make_unique<gan::LayerBlock>(LayerSpec{.in = 5, .out = 1, .bias = true}));
  gan::Network network(name, std::move(blocks));
  network.initialise(3);
  return network;
}

bool same_bits(const comm::Arena& left, const comm::Arena& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

}  // namespace gangway::worker
