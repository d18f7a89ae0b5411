// SPDX-License-Identifier: MIT
// Reads a checkpoint in full: chunk sums, then the hash of every piece.
#pragma once

#include <filesystem>

#include "checkpoint/format/manifest.hpp"

namespace gangway::checkpoint {

/// Reads everything: sizes, hashes, structure, identities, names; no file too few or too many.
/// @return the manifest. @throws CheckpointError naming the file, and the tensor where known.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace gangway::checkpoint
