// SPDX-License-Identifier: MIT
// The digest of a trained state: the oracle of «the job decides the numbers, the layout decides
// only the speed».
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"

namespace gangway::checkpoint {

/// XXH3-128, 32 hexadecimal digits, over a header (digest version, numerics, step) and all tensors
/// of all files by name: name, type, shape, row-major bytes. The number of files and which file
/// holds what do not enter.
/// @throws CheckpointError when the checkpoint does not verify.
[[nodiscard]] std::string digest(const std::filesystem::path& checkpoint);

/// Why the digest of a checkpoint of `manifest` may be another one than that of an equal job: a
/// line each; none where equal bits were promised and, as far as it is known, kept.
[[nodiscard]] std::vector<std::string> digest_notes(const Manifest& manifest);

}  // namespace gangway::checkpoint
