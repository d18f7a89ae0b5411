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
#include "job/file/host_names.hpp"
#include "job/file/job_sources.hpp"
#include "job/keys/settings.hpp"

namespace gangway {

struct SettledPlaces {
  Draft draft;
  Problems problems;                    ///< all of them
  std::vector<NamedHosts> named_hosts;  ///< of networks that the layout places by them
  std::vector<LeftOut> left_out;        ///< what a later place took with it
};

/// @param text  of the job file, if there is one
/// @param last  the last place that is asked
/// @throws JobFileError where the library cannot be used
[[nodiscard]] SettledPlaces settle_places(const JobSources& sources,
                                          const std::optional<std::string>& text, Layer last);

/// The text of the job file; nothing where there is none. @throws JobFileError where it cannot be
/// read
[[nodiscard]] std::optional<std::string> job_text(const JobSources& sources);

/// Of all places. @throws JobFileError likewise
[[nodiscard]] SettledPlaces settle_sources(const JobSources& sources,
                                           const std::optional<std::string>& text);

}  // namespace gangway
