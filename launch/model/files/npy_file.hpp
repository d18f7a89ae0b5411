// SPDX-License-Identifier: MIT
// NumPy's format for one array (numpy.lib.format, versions 1 and 2), as far as noise needs it.
#pragma once

#include <filesystem>

#include "gan/torch.hpp"

namespace gangway::launch {

/// A matrix of '<f4' or '<f8' in C order, as float32. @throws ConfigError naming the file
[[nodiscard]] at::Tensor read_npy_matrix(const std::filesystem::path& file);

}  // namespace gangway::launch
