// SPDX-License-Identifier: MIT
#include "gan/build_networks.hpp"

#include "gan/label_blocks.hpp"
#include "gan/layer_block.hpp"
#include "gan/residual_blocks.hpp"
#include "gan/script_block.hpp"
#include "gan/transformer_blocks.hpp"

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

std::unique_ptr<Block> make_block(const LabelEmbeddingSpec& spec) {
  return std::make_unique<LabelEmbedding>(spec);
}

std::unique_ptr<Block> make_block(const LabelProductSpec& spec) {
  return std::make_unique<LabelProduct>(spec);
}

std::unique_ptr<Block> make_block(const ResidualSpec& spec) {
  return std::make_unique<ResidualBlock>(spec);
}

std::unique_ptr<Block> make_block(const ResamplingSpec& spec) {
  return std::make_unique<ResamplingBlock>(spec);
}

std::unique_ptr<Block> make_block(const GenerativeBasisSpec& spec) {
  return std::make_unique<GenerativeBasis>(spec);
}

std::unique_ptr<Block> make_block(const DiscriminativeBasisSpec& spec) {
  return std::make_unique<DiscriminativeBasis>(spec);
}

std::unique_ptr<Block> make_block(const ScriptSpec& spec) {
  return std::make_unique<ScriptBlock>(spec);
}

std::unique_ptr<Block> make_block(const TokenStyleSpec& spec) {
  return std::make_unique<TokenStyle>(spec);
}

std::unique_ptr<Block> make_block(const TokenGridSpec& spec) {
  return std::make_unique<TokenGrid>(spec);
}

std::unique_ptr<Block> make_block(const TransformerSpec& spec) {
  return std::make_unique<TransformerBlock>(spec);
}

std::unique_ptr<Block> make_block(const PatchPictureSpec& spec) {
  return std::make_unique<PatchPicture>(spec);
}

std::unique_ptr<Block> make_block(const PatchEmbeddingSpec& spec) {
  return std::make_unique<PatchEmbedding>(spec);
}

std::unique_ptr<Block> make_block(const TokenHeadSpec& spec) {
  return std::make_unique<TokenHead>(spec);
}

}  // namespace

Network build_network(const Architecture& architecture, NetworkId id) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (const BlockSpec& block : architecture.blocks) {
    blocks.push_back(std::visit([](const auto& spec) { return make_block(spec); }, block));
  }
  return {architecture.name, std::move(blocks), "features", id};
}

PerNetwork<Network> build_networks(const JobSpec& job) {
  const PerNetwork<Architecture> architectures = job.architectures();
  PerNetwork<Network> networks;
  for (const NetworkId id : architectures.ids()) {
    networks.add(build_network(architectures[id], id));
    if (const auto* script = dynamic_cast<const ScriptBlock*>(&networks[id].block(0))) {
      script->require_deterministic(job.numerics.device);
    }
  }
  return networks;
}

}  // namespace gangway::gan
