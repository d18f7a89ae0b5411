// SPDX-License-Identifier: MIT
// Reads one array in NumPy's format (numpy.lib.format, versions 1 and 2), for noise.
#pragma once

#include <filesystem>

#include "gan/torch.hpp"

namespace gangway::launch {

/// Returns a matrix of '<f4' or '<f8' in C order as float32. @throws ConfigError naming the file
[[nodiscard]] at::Tensor read_npy_matrix(const std::filesystem::path& file);

}  // namespace gangway::launch
