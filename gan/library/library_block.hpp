// SPDX-License-Identifier: MIT
// A block that a user's library makes. Compute thread only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/library_spec.hpp"

namespace gangway::gan {

/// Loads the library's part with LibTorch, which stays until the process ends.
/// @throws ConfigError of one line with the file: as SharedLibrary, or it has no such kind, or its
/// block has other tensors than the spec
[[nodiscard]] std::unique_ptr<Block> make_block(const LibrarySpec& spec);

}  // namespace gangway::gan
