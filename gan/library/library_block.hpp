// SPDX-License-Identifier: MIT
// Makes the blocks of a user's library. Compute thread only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/library_spec.hpp"

namespace gangway::gan {

/// Loads the library's LibTorch part, which stays loaded until the process ends.
/// @throws ConfigError naming the file: as SharedLibrary, or no such kind, or other tensors than
/// the spec
[[nodiscard]] std::unique_ptr<Block> make_block(const LibrarySpec& spec);

}  // namespace gangway::gan
