// SPDX-License-Identifier: MIT
// Computes the digest of a trained state. Tests use it to check that equal jobs give equal bits on
// every layout of workers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"

namespace gangway::checkpoint {

/// Returns XXH3-128, 32 hexadecimal digits, over a header (digest version, numerics, step) and all
/// tensors by name: name, type, shape, row-major bytes. Independent of the number of files and
/// their pieces.
/// @throws CheckpointError if the checkpoint does not verify.
[[nodiscard]] std::string digest(const std::filesystem::path& checkpoint);

/// Returns a line per reason why an equal job may have another digest. Empty if equal bits were
/// promised and, as far as known, kept.
[[nodiscard]] std::vector<std::string> digest_notes(const Manifest& manifest);

}  // namespace gangway::checkpoint
