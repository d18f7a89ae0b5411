// SPDX-License-Identifier: MIT
// The header for a user's own family of models: rows for job files, and blocks and losses of
// their own (docs/python.md, examples/own-family/). Installed. The rows are
// read in every program; the blocks are made where networks are, compute thread.
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
  /// A block whose ports, parameters and statistics are those of the spec.
  std::unique_ptr<Block> (*make)(const LibrarySpec& spec) = nullptr;
};

/// For graphs of recipes (pipeline::Loss).
struct LibraryLoss {
  std::string_view name;
  LossFunction function = nullptr;
};

struct LibraryBlocks {
  std::vector<LibraryBlock> blocks = {};
  std::vector<LibraryLoss> losses = {};
};

}  // namespace gangway::gan

/// The library defines it where it has blocks or losses, and gives the same object at every call.
extern "C" [[gnu::visibility("default")]] const gangway::gan::LibraryBlocks&
gangway_library_blocks();
