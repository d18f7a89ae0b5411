// SPDX-License-Identifier: MIT
// Handles host names in a layout, as in layout.generator: [node-a]. Which workers run on a host is
// known where the job is started. Also takes the workers of stored jobs of earlier versions. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/keys/settings.hpp"
#include "job/models/recipes.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Hosts whose workers hold a network.
struct NamedHosts {
  std::string place;  ///< for messages: "job.yaml:3:10: layout.generator"
  std::string network;
  std::vector<std::string> hosts;
};

/// Removes the settings that name hosts from `settings` and returns the last one of each key.
/// Called by job/file/settle_places.cpp.
/// @param may_be  false: each such setting is a problem
[[nodiscard]] std::vector<NamedHosts> take_host_names(std::vector<Setting>& settings,
                                                      const Recipe& recipe, bool may_be,
                                                      Problems& problems);

/// Turns workers from 0, as in stored jobs of earlier versions, into ranks. Lists without a 0 stay
/// as they are: a layout changes no numbers. Called by job/file/settle_places.cpp.
void renumber_former_workers(std::vector<Setting>& settings, const Recipe& recipe);

/// Puts the workers on those hosts into the job's layout.
/// @param hosts  by worker, the name of its host
/// @throws JobFileError if a host has no worker, or if the layout then breaks a rule
void place_on_hosts(JobSpec& job, const std::vector<NamedHosts>& named,
                    const std::vector<std::string>& hosts);

}  // namespace gangway
