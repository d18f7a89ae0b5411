// SPDX-License-Identifier: MIT
// Measures the links of hosts: every pair of them, each host with one other at a time, and each
// host inside. Lane thread, while nothing else is under way.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "comm/calibrate/link_table.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct LinkSetup {
  std::vector<int> machines;                ///< by worker: equal where memory could be shared
  std::vector<std::string> names;           ///< by worker, of its host
  std::string token;                        ///< names the memory that is shared for the moment
  std::chrono::milliseconds budget{3'000};  ///< of each path; fast links take a small part of it
};

/// Every worker calls it. The table is worker 0's; the others' is empty. The first worker of a host
/// measures its links; a host with one worker alone has no figures inside.
/// @throws CommError naming a silent worker.
[[nodiscard]] LinkTable measure_links(Transport& transport, const LinkSetup& setup);

}  // namespace gangway::comm
