// SPDX-License-Identifier: MIT
// A job of all that speaks of it: the file, then the environment, then the command line. A later
// place that chooses otherwise (another policy, optimiser, recipe, family) takes with it what
// earlier places said of the choice that it replaces. What one place says has to fit by itself.
//
// Used by job/file/parse.cpp and open_keys.cpp. Pure but for the job file, which it reads, and the
// library of the job, which it loads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/file/draft.hpp"
#include "job/file/job_sources.hpp"
#include "job/keys/settings.hpp"

namespace gangway {

struct SettledPlaces {
  Draft draft;
  Problems problems;                     ///< all of them
  std::vector<std::string> named_hosts;  ///< as of ResolvedJob (job/file/parse.hpp)
  std::vector<LeftOut> left_out;         ///< what a later place took with it
};

/// @param text  of the job file, if there is one
/// @param last  the last place that is asked
/// @throws JobFileError where the library cannot be used
[[nodiscard]] SettledPlaces settle_places(const JobSources& sources,
                                          const std::optional<std::string>& text, Layer last);

/// All places, the file read where no text is given. @throws JobFileError likewise, and where the
/// file cannot be read
[[nodiscard]] SettledPlaces settle_sources(const JobSources& sources);

}  // namespace gangway
