// SPDX-License-Identifier: MIT
// A block for each resolution from 4 pixels to the picture's. Training adds the blocks one by one
// (job/models/growth_schedule.hpp). The generator's pictures always have the final resolution, and
// no tanh.
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "job/families/family_networks.hpp"
#include "job/families/label_input.hpp"

namespace gangway {
namespace {

/// Maps of at most so many pixels a side have the same channels; each doubling above halves them
/// (table 2).
constexpr std::int64_t kWidestSide = 32;

/// Returns the number of the last part.
int finest_part(const ModelSpec& model) {
  int part = 0;
  while ((kFirstSide << part) < model.resolution) {
    ++part;
  }
  return part;
}

std::int64_t channels_of_part(const ModelSpec& model, int part) {
  return std::int64_t{model.width} * model.resolution / std::max(kFirstSide << part, kWidestSide);
}

}  // namespace

Architecture progressive_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const std::int64_t in = add_label_input(model, blocks);
  const int last = finest_part(model);
  blocks.emplace_back(ProgressiveStartSpec{.place = {0, last},
                                           .in = in,
                                           .channels = channels_of_part(model, 0),
                                           .pictures = model.channels});
  for (int part = 1; part <= last; ++part) {
    blocks.emplace_back(ProgressiveUpSpec{.place = {part, last},
                                          .in = channels_of_part(model, part - 1),
                                          .out = channels_of_part(model, part),
                                          .pictures = model.channels});
  }
  blocks.emplace_back(ProgressivePictureSpec{.side = model.resolution});
  return {"generator", std::move(blocks)};
}

Architecture progressive_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const int last = finest_part(model);
  for (int part = last; part > 0; --part) {
    blocks.emplace_back(ProgressiveDownSpec{.place = {part, last},
                                            .pictures = model.channels,
                                            .in = channels_of_part(model, part),
                                            .out = channels_of_part(model, part - 1)});
  }
  blocks.emplace_back(ProgressiveEndSpec{.place = {0, last},
                                         .pictures = model.channels,
                                         .channels = channels_of_part(model, 0),
                                         .classes = model.classes});
  return {"discriminator", std::move(blocks)};
}

std::int64_t progressive_feature_elements(const ModelSpec& model) {
  std::int64_t elements = std::int64_t{model.resolution} * model.resolution * model.channels;
  const Architecture generator = progressive_generator(model);
  for (const BlockSpec& block : generator.blocks) {
    if (const auto* up = std::get_if<ProgressiveUpSpec>(&block)) {
      const std::int64_t pixels = up->place.side() * up->place.side();
      elements += pixels * (up->in + 4 * up->out);  // before and behind each normalization
    }
  }
  return elements;
}

}  // namespace gangway
