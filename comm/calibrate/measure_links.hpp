// SPDX-License-Identifier: MIT
// Measures the links of hosts: every pair, with each host in one pair at a time, and each host
// inside. Lane thread, while no other message is under way.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "comm/calibrate/link_table.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct LinkSetup {
  std::vector<int> machines;                ///< by worker; equal values: memory may be shared
  std::vector<std::string> names;           ///< by worker: the name of its host
  std::string token;                        ///< names the temporary shared memory
  std::chrono::milliseconds budget{3'000};  ///< of each path; fast links need a small part of it
};

/// Returns the table at worker 0, an empty one elsewhere. Every worker calls it. The first worker
/// of a host measures its links. A host with one worker has no figures inside.
/// @throws CommError naming a silent worker.
[[nodiscard]] LinkTable measure_links(Transport& transport, const LinkSetup& setup);

}  // namespace gangway::comm
