// SPDX-License-Identifier: MIT
// Whether a job's data can be trained on, asked before a run is made, and by --dry-run: what would
// end the workers' start ends here, with the same line. Called by `gangway run` where the data of
// this host are those of the workers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// What people should know of data that can be trained on.
struct DataFacts {
  std::string what;                ///< "images:photos, 200 examples, 2 labels"
  std::vector<std::string> notes;  ///< a line each
};

/// Opens the data as workers do and reads the first example. Files that were not seen before are
/// read, so that the workers need not do it.
/// @param say  told how that goes on, where it takes long
/// @throws ConfigError where they cannot be trained on
[[nodiscard]] DataFacts require_data(const JobSpec& spec, const Environment& environment,
                                     const std::function<void(const std::string&)>& say);

}  // namespace gangway::launch
