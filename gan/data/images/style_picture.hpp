// SPDX-License-Identifier: MIT
// The picture of a job whose style others are to have. Called once where a worker begins.
#pragma once

#include <vector>

#include "job/spec.hpp"

namespace gangway::data {

/// [channels, resolution, resolution] in [-1, 1], decoded and cropped as pictures of a data set
/// are.
/// @throws ConfigError naming the file: missing, another than the job's, neither PNG nor JPEG
[[nodiscard]] std::vector<float> read_style_picture(const Job& job);

}  // namespace gangway::data
