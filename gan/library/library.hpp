// SPDX-License-Identifier: MIT
// Header for a user's own family of models: rows for job files, blocks and losses (docs/python.md,
// examples/own-family/). Installed. Every program reads the rows; blocks are made where networks
// are built, on the compute thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gan/block.hpp"
#include "gan/losses/losses.hpp"
#include "gan/random_tensors.hpp"
#include "job/blocks/library_spec.hpp"
#include "job/library/library_rows.hpp"

namespace gangway::gan {

/// A kind of block.
struct LibraryBlock {
  std::string_view kind;  ///< LibrarySpec::kind
  /// Makes a block with the ports, parameters and statistics of the spec.
  std::unique_ptr<Block> (*make)(const LibrarySpec& spec) = nullptr;
};

/// A loss for graphs of recipes (pipeline::Loss).
struct LibraryLoss {
  std::string_view name;
  LossFunction function = nullptr;
};

struct LibraryBlocks {
  std::vector<LibraryBlock> blocks = {};
  std::vector<LibraryLoss> losses = {};
};

}  // namespace gangway::gan

/// Defined by a library with blocks or losses; returns the same object at every call.
extern "C" [[gnu::visibility("default")]] const gangway::gan::LibraryBlocks&
gangway_library_blocks();
