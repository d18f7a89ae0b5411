// SPDX-License-Identifier: MIT
#include "gan/blocks/build_networks.hpp"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gan/augment/augmentation.hpp"
#include "gan/blocks/label_blocks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/progressive_blocks.hpp"
#include "gan/blocks/residual_blocks.hpp"
#include "gan/blocks/spectral_blocks.hpp"
#include "gan/blocks/style_blocks.hpp"
#include "gan/blocks/style_judges.hpp"
#include "gan/blocks/transfer_blocks.hpp"
#include "gan/blocks/transformer_blocks.hpp"
#include "gan/blocks/translation_blocks.hpp"
#include "gan/initialization.hpp"
#include "gan/library/library_block.hpp"
#include "python/open/python_library.hpp"

namespace gangway::gan {
namespace {

/// Makes blocks of one class from its specs.
template <typename Class>
struct ClassMaker {
  [[nodiscard]] std::unique_ptr<Block> operator()(const typename Class::Spec& spec) const {
    return std::make_unique<Class>(spec);
  }
};

/// Makes the block of any spec: of one of the classes, or of the user's code.
template <typename... Classes>
struct MakerOf : ClassMaker<Classes>... {
  using ClassMaker<Classes>::operator()...;
  [[nodiscard]] auto operator()(const LibrarySpec& spec) const { return make_block(spec); }
  [[nodiscard]] auto operator()(const PythonSpec& spec) const { return python::make_block(spec); }
};

using BlockMaker =
    MakerOf<LayerBlock, LabelConcatenation, ProjectionHead, LabelEmbedding, LabelProduct,
            ResidualBlock, ResamplingBlock, GenerativeBasis, DiscriminativeBasis, TokenStyle,
            TokenGrid, TransformerBlock, PatchPicture, PatchEmbedding, TokenHead, SpectralStem,
            SharedEmbedding, SpectralUp, SpectralPicture, SpectralDown, SpectralAttention,
            SpectralHead, Skip, InstanceLayer, InstanceResidual, StyleMapping, StyleConstant,
            StyleLayer, StylePicture, StyleImage, StyleHalving, StyleEpilogue, StyleLabel,
            TransferLayer, TransferResidual, FeatureLevel, ProgressiveStart, ProgressiveUp,
            ProgressivePicture, ProgressiveDown, ProgressiveEnd>;

}  // namespace

Network build_network(const Architecture& architecture, NetworkId id) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (const BlockSpec& block : architecture.blocks) {
    blocks.push_back(std::visit(BlockMaker(), block));
  }
  Network network(architecture.name, std::move(blocks), "features", id, architecture.levels);
  network.keep_in_fp32(architecture.fp32_blocks, architecture.is_fp32_beside_bf16);
  return network;
}

PerNetwork<Network> build_networks(const Job& job) {
  const PerNetwork<Architecture> architectures = job.architectures();
  PerNetwork<Network> networks;
  for (const NetworkId id : architectures.ids()) {
    networks.add(build_network(architectures[id], id));
    choose_initial_values(networks[id], job.networks[id].initialization);
  }
  if (const LecamSpec& lecam = job.training.lecam; lecam.is_any()) {
    Network& discriminator = networks[job.id_of("discriminator")];
    discriminator.keep_mean(kLecamReal, 1.0 - lecam.decay);
    discriminator.keep_mean(kLecamFake, 1.0 - lecam.decay);
  }
  if (job.training.augment.is_adaptive()) {
    add_augment_statistics(networks[job.id_of("discriminator")], job.training.augment);
  }
  return networks;
}

}  // namespace gangway::gan
