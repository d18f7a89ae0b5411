// SPDX-License-Identifier: MIT
// Small jobs with features that only published recipes have (examples/published/). Any thread.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/fidelity/small_jobs.hpp"

namespace gangway::fidelity {

/// Jobs on the images of write_tiny_images.
[[nodiscard]] std::vector<NamedJob> jobs_as_published(const std::filesystem::path& folder);

}  // namespace gangway::fidelity
