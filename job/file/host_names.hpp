// SPDX-License-Identifier: MIT
// A job may say who holds a network by names of hosts, as in layout.generator: [node-a]. Which
// workers these are is known where the job is started: there numbers take the names' place. Used by
// job/file/parse.cpp. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/keys/settings.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

/// By worker, the name of its host. Nothing: nobody knows, and names are refused. Empty: nobody
/// knows yet; what is said by names is left out, as if it were auto.
using HostsOfWorkers = std::optional<std::vector<std::string>>;

/// Puts workers in the place of hosts in `settings`; what it complains of, and what a later setting
/// of the same key replaces, it takes out.
/// @return the settings that name hosts, as overrides: `layout.generator=["node-a"]`
std::vector<std::string> resolve_host_names(std::vector<Setting>& settings, const Recipe& recipe,
                                            const HostsOfWorkers& hosts, Problems& problems);

}  // namespace gangway
