// SPDX-License-Identifier: MIT
// `gangway bench overlap`: trains a job for some steps in each way of overlapping, in turns, by the
// real `gangway run`, and compares the steps. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::bench {

struct OverlapOptions {
  std::filesystem::path job = "examples/fashion-mnist.yaml";
  std::vector<std::string> overrides;
  int workers = 2;
  std::filesystem::path hostfile;
  std::filesystem::path outdir;  ///< of the runs; empty: a temporary folder
  std::vector<std::string> modes{"none", "within", "across"};
  std::vector<std::string> transports{"auto"};
  std::string line_rate;  ///< of a host's link, as "1gbit"
  int rounds = 5;
  int steps = 60;  ///< of a run, the first quarter as warm-up
  bool anyway = false;
};

/// @return exit code. @throws Error, with the last words of a run that failed.
[[nodiscard]] int bench_overlap(const OverlapOptions& options, const Environment& environment);

}  // namespace gangway::bench
