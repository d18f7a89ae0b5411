// SPDX-License-Identifier: MIT
// A job may say which workers hold a network by names of hosts, as in layout.generator: [node-a].
// Which workers are on them is known where the job is started. Pure.
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

/// Takes the settings out of `settings` that name hosts; one that a later setting of the same key
/// replaces is dropped. Called by job/file/settle_places.cpp.
/// @param may_be  false: each is complained of
[[nodiscard]] std::vector<NamedHosts> take_host_names(std::vector<Setting>& settings,
                                                      const Recipe& recipe, bool may_be,
                                                      Problems& problems);

/// Puts the workers on those hosts into the job's layout.
/// @param hosts  by worker, the name of its host
/// @throws JobFileError where no worker is on one of them; where the layout breaks a rule then
void place_on_hosts(JobSpec& job, const std::vector<NamedHosts>& named,
                    const std::vector<std::string>& hosts);

}  // namespace gangway
