// SPDX-License-Identifier: MIT
// Verifies a complete checkpoint: chunk sums, then the hash of every piece. Any thread.
#pragma once

#include <filesystem>

#include "checkpoint/format/manifest.hpp"

namespace gangway::checkpoint {

/// Reads all bytes: checks sizes, hashes, structure, identities, names, missing and extra files.
/// @return the manifest. @throws CheckpointError naming the file, and the tensor where known.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace gangway::checkpoint
