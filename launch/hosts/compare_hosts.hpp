// SPDX-License-Identifier: MIT
// Sets hosts beside one another: what differs, what of it is in the way of a job, and the remedy.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "launch/hosts/ask_hosts.hpp"
#include "launch/hosts/findings.hpp"

namespace gangway::launch {

/// A line a host; what differs from most of the others bears a mark: "!" where a job would be
/// refused or fail, "*" where it would only be odd.
[[nodiscard]] std::string hosts_table(const std::vector<AskedHost>& hosts);

/// A finding for each thing in which hosts differ, and for each that did not answer.
[[nodiscard]] std::vector<Finding> compare_hosts(const std::vector<AskedHost>& hosts);

/// One JSON object: {"healthy": …, "findings": […], "hosts": [{"host": …, "build": …}]}.
[[nodiscard]] std::string hosts_json(const std::vector<AskedHost>& hosts);

}  // namespace gangway::launch
