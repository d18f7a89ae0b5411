// SPDX-License-Identifier: MIT
// What of the published recipes (examples/published/) no other small job has. Any thread.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/fidelity/small_jobs.hpp"

namespace gangway::fidelity {

/// On the images of write_tiny_images.
[[nodiscard]] std::vector<NamedJob> jobs_as_published(const std::filesystem::path& folder);

}  // namespace gangway::fidelity
