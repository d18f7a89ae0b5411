// SPDX-License-Identifier: MIT
// Reads the job's style picture. Called once when a worker begins.
#pragma once

#include <vector>

#include "job/spec.hpp"

namespace gangway::data {

/// Returns [channels, resolution, resolution] in [-1, 1], decoded and cropped as pictures of a data
/// set.
/// @throws ConfigError naming the file: missing, not the job's, or neither PNG nor JPEG
[[nodiscard]] std::vector<float> read_style_picture(const Job& job);

}  // namespace gangway::data
