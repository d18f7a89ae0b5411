// SPDX-License-Identifier: MIT
// Applies measured links to a cluster. Every run measures the paths between its workers at its
// start (comm/calibrate/calibrator.hpp) and writes the result to its folder.
#pragma once

#include <filesystem>

#include "comm/calibrate/calibration.hpp"
#include "comm/calibrate/link_table.hpp"
#include "plan/machines/cluster.hpp"

namespace gangway::plan {

/// Returns `cluster` with the latency and bandwidth of the measured paths: of shared memory within
/// a host, otherwise of messages. Keeps unmeasured links.
[[nodiscard]] Cluster with_links(Cluster cluster, const comm::Calibration& measured);

/// Returns `cluster` with the links of host pairs whose names match nodes. Other pairs get the
/// median pair's, `inside` the slowest host's. @throws ConfigError if no name matches
[[nodiscard]] Cluster with_links(Cluster cluster, const comm::LinkTable& measured);

/// @param from  a run's folder, its calibration.json, or a profile of several hosts
/// @throws ConfigError if the file is missing, or has other content
[[nodiscard]] Cluster with_links_of(Cluster cluster, const std::filesystem::path& from);

}  // namespace gangway::plan
