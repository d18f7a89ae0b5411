// SPDX-License-Identifier: MIT
#include "gan/build_networks.hpp"

#include "gan/label_blocks.hpp"
#include "gan/layer_block.hpp"
#include "job/models/families.hpp"

namespace gangway::gan {
namespace {

std::unique_ptr<Block> make_block(const LayerSpec& spec) {
  return std::make_unique<LayerBlock>(spec);
}

std::unique_ptr<Block> make_block(const LabelConcatenationSpec& spec) {
  return std::make_unique<LabelConcatenation>(spec);
}

std::unique_ptr<Block> make_block(const ProjectionHeadSpec& spec) {
  return std::make_unique<ProjectionHead>(spec);
}

}  // namespace

Network build_network(const Architecture& architecture) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (const BlockSpec& block : architecture.blocks) {
    blocks.push_back(std::visit([](const auto& spec) { return make_block(spec); }, block));
  }
  return {architecture.name, std::move(blocks)};
}

NetworkPair build_networks(const JobSpec& job) {
  const Architectures networks = architectures_of(job.settled_model());
  return {build_network(networks.generator), build_network(networks.discriminator)};
}

}  // namespace gangway::gan
