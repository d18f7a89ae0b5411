// SPDX-License-Identifier: MIT
// The digest of a trained state: the oracle of «the job decides the numbers, the layout decides
// only the speed».
#pragma once

#include <filesystem>
#include <string>

namespace gangway::checkpoint {

/// XXH3-128, 32 hexadecimal digits, over a header (digest version, numerics, step) and all tensors
/// of all files by name: name, type, shape, row-major bytes. The number of files and which file
/// holds what do not enter.
/// @throws CheckpointError when the checkpoint does not verify.
[[nodiscard]] std::string digest(const std::filesystem::path& checkpoint);

}  // namespace gangway::checkpoint
