// SPDX-License-Identifier: MIT
#include "gan/library/library_block.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "gan/library/library.hpp"
#include "job/library/family_library.hpp"
#include "job/library/shared_library.hpp"

namespace gangway::gan {
namespace {

std::string kinds_of(const LibraryBlocks& library) {
  std::string kinds;
  for (const LibraryBlock& block : library.blocks) {
    kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", block.kind);
  }
  return kinds;
}

/// Returns the first tensor that differs from the spec; empty if none. Memory and the layout of
/// checkpoints, computed without LibTorch, rely on the spec.
std::string first_difference(Block& block, const LibrarySpec& spec) {
  if (block.parameters().size() != spec.parameters.size() ||
      block.statistics().size() != spec.statistics.size()) {
    return "their number";
  }
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    const Parameter& made = block.parameters()[i];
    if (made.name != spec.parameters[i].name ||
        made.tensor.sizes() != at::IntArrayRef(spec.parameters[i].shape)) {
      return spec.parameters[i].name;
    }
  }
  for (std::size_t i = 0; i < spec.statistics.size(); ++i) {
    const Statistic& made = block.statistics()[i];
    if (made.name != spec.statistics[i].name ||
        made.running.numel() != spec.statistics[i].features) {
      return spec.statistics[i].name;
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Block> make_block(const LibrarySpec& spec) {
  const std::filesystem::path file = blocks_file(spec.library);
  const SharedLibrary opened = open_blocks(spec.library, TORCH_VERSION);
  const auto& library = opened.function<const LibraryBlocks&()>("gangway_library_blocks")();
  const auto found = std::ranges::find(library.blocks, spec.kind, &LibraryBlock::kind);
  if (found == library.blocks.end()) {
    throw ConfigError(fmt::format("{}: has no block of kind '{}', which its family uses; it has {}",
                                  file.string(), spec.kind, kinds_of(library)));
  }
  std::unique_ptr<Block> block = found->make(spec);
  if (const std::string difference = first_difference(*block, spec); !difference.empty()) {
    throw ConfigError(
        fmt::format("{}: the block '{}' has other tensors than its LibrarySpec ({}); hand "
                    "parameters_of(spec) and statistics_of(spec) to gangway::gan::Block",
                    file.string(), spec.kind, difference));
  }
  return block;
}

}  // namespace gangway::gan
