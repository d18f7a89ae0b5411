// SPDX-License-Identifier: MIT
// Combines the places that describe a job: the file, then the environment, then the command line.
// If a later place makes another choice (policy, optimiser, recipe, family), earlier values about
// the replaced choice are left out. Each place must fit by itself.
//
// Used by job/file/parse.cpp and open_keys.cpp. Pure, except that it reads the job file and loads
// the job's library.
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
  std::vector<NamedHosts> named_hosts;  ///< hosts of networks that the layout places by host
  std::vector<LeftOut> left_out;        ///< keys that a later choice left out
};

/// @param text  of the job file, if there is one
/// @param last  the last place to use
/// @throws JobFileError if the library cannot be used
[[nodiscard]] SettledPlaces settle_places(const JobSources& sources,
                                          const std::optional<std::string>& text, Layer last);

/// Returns the text of the job file; nothing if there is none. @throws JobFileError if it cannot be
/// read
[[nodiscard]] std::optional<std::string> job_text(const JobSources& sources);

/// Combines all places. @throws JobFileError likewise
[[nodiscard]] SettledPlaces settle_sources(const JobSources& sources,
                                           const std::optional<std::string>& text);

}  // namespace gangway
