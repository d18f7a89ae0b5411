// SPDX-License-Identifier: MIT
// Links as a run found them when it began: every run measures the paths between its workers
// (comm/calibrate/calibrator.hpp) and leaves what it found in its folder.
#pragma once

#include <filesystem>

#include "comm/calibrate/calibration.hpp"
#include "comm/calibrate/link_table.hpp"
#include "plan/machines/cluster.hpp"

namespace gangway::plan {

/// `cluster` with the latency and bandwidth of the paths that were measured: within a host that of
/// shared memory, else of messages. What was not measured stays as it is.
[[nodiscard]] Cluster with_links(Cluster cluster, const comm::Calibration& measured);

/// The same of every pair of hosts whose names are those of nodes; other pairs get what the median
/// pair has, and `inside` is that of the slowest host. @throws ConfigError where no node is known
[[nodiscard]] Cluster with_links(Cluster cluster, const comm::LinkTable& measured);

/// @param from  a run's folder, its calibration.json, or a profile of several hosts
/// @throws ConfigError where there is no such file, or it is of something else
[[nodiscard]] Cluster with_links_of(Cluster cluster, const std::filesystem::path& from);

}  // namespace gangway::plan
