// SPDX-License-Identifier: MIT
// `gangway bench node`: one report of a machine, to be sent to others: what it is and lacks, how
// fast its workers exchange, and a small job of this program's own on one worker and more, whose
// digests must be equal. Keeps a time limit. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct BenchNodeOptions {
  std::vector<std::string> overrides;  ///< of the job
  double minutes = 10.0;               ///< it has ended by then
  std::vector<int> workers;            ///< empty: 1, 2, 4 and so on, up to GPUs or cores
  DeviceKind device = DeviceKind::kAuto;
  std::filesystem::path output = "node.bench";  ///< without its ending
};

/// Writes OUTPUT.json and OUTPUT.html. @return exit code: kInternal where digests differ,
/// kEnvironment where something could not be measured; the report says what
/// @throws ConfigError, EnvironmentError for what stands in the way of all of it; SignalledError
[[nodiscard]] int bench_node(const BenchNodeOptions& options, const Environment& environment);

}  // namespace gangway::launch
