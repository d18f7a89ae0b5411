// SPDX-License-Identifier: MIT
// Measures the paths between workers at the start of a run: some tens of messages between one pair
// within a host and one between hosts, copies from shared memory, well below a second in all.
// Lane thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/calibrate/calibration.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct CalibratorSetup {
  std::vector<int> machines;              ///< by worker: equal where memory could be shared
  std::string token;                      ///< names the memory that is shared for the moment
  std::optional<Calibration> recorded{};  ///< worker 0's; used where it has all possible paths
  std::chrono::milliseconds budget{300};  ///< of each path
};

/// Every worker calls it. Returns worker 0's numbers, recorded or new: equal on all workers. A host
/// that cannot share memory leaves that path out.
/// @throws CommError naming a silent worker.
[[nodiscard]] Calibration calibrate(Transport& transport, const CalibratorSetup& setup);

}  // namespace gangway::comm
