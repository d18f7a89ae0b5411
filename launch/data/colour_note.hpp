// SPDX-License-Identifier: MIT
// That colour pictures are about to be trained grey: said before a job is started, and in its dry
// run. Called by `gangway run` where the data of this host are those of the workers.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::launch {

/// Of a folder or ZIP of pictures, by the first one. Empty: they are not in colour, the job has
/// three channels, or they cannot be read, which the workers say.
[[nodiscard]] std::vector<std::string> colour_notes(const JobSpec& spec);

}  // namespace gangway::launch
