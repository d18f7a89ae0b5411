// SPDX-License-Identifier: MIT
// Measures the paths between workers at the start of a run, in well below a second. Sends some
// tens of messages between one pair within a host and one pair between hosts, and copies from
// shared memory. Lane thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/calibrate/calibration.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct CalibratorSetup {
  std::vector<int> machines;              ///< by worker; equal values: memory may be shared
  std::string token;                      ///< names the temporary shared memory
  std::optional<Calibration> recorded{};  ///< worker 0's; used if it has all possible paths
  std::chrono::milliseconds budget{300};  ///< of each path
};

/// Returns worker 0's numbers, recorded or new, equal on all workers. Every worker calls it. Omits
/// the shared-memory path if the host cannot share memory.
/// @throws CommError naming a silent worker.
[[nodiscard]] Calibration calibrate(Transport& transport, const CalibratorSetup& setup);

}  // namespace gangway::comm
