// SPDX-License-Identifier: MIT
// Asks hosts for their facts and their clocks, each through an mpirun of its own, so that one that
// does not answer is named. Called by `gangway doctor --hosts`, main thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/host_facts.hpp"

namespace gangway::launch {

/// How far a host's clock is ahead of this one's: known to half of the quickest round trip.
struct ClockDifference {
  std::chrono::duration<double> ahead{0};
  std::chrono::duration<double> error{0};
};

struct AskedHost {
  std::string name;  ///< as it was asked for
  std::optional<HostFacts> facts;
  std::optional<ClockDifference> clock;
  std::string complaint;  ///< where there are no facts: what it or mpirun said last
};

/// All at once.
/// @param forwarded  names of environment variables that a job's ranks there would get
/// @param limit      for the slowest; who has not answered by then is left to its own
[[nodiscard]] std::vector<AskedHost> ask_hosts(const std::vector<std::string>& names,
                                               const std::filesystem::path& program,
                                               const std::vector<std::string>& forwarded,
                                               std::chrono::milliseconds limit);

}  // namespace gangway::launch
