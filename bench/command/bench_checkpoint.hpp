// SPDX-License-Identifier: MIT
// `gangway bench checkpoint`: trains with and without checkpoints in turns, by the real `gangway
// run`, and measures the store beside memory and disk. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::bench {

struct CheckpointBenchOptions {
  std::vector<std::string> overrides;
  std::vector<int> sizes{50, 500};  ///< of the state: weights, average, moments; 10^6 bytes
  int workers = 2;
  std::filesystem::path outdir;  ///< on the disk in question; empty: a temporary folder
  int every_steps = 50;          ///< from one checkpoint to the next
  int checkpoints = 4;           ///< in a run
  int rounds = 3;
  int turns = 5;      ///< of memory, disk and store in a round
  std::string rival;  ///< a command to be measured in turns as well: see docs/benchmarks.md
  bool anyway = false;
};

/// The smallest mlp whose state has that size. Pure.
struct BenchModel {
  int width = 0;
  int batch = 0;  ///< so that a step takes some tenths of a second on two cores
  double state_bytes = 0.0;
};
[[nodiscard]] BenchModel bench_model(int megabytes);

/// @return exit code. @throws Error, with the last words of a run that failed.
[[nodiscard]] int bench_checkpoint(const CheckpointBenchOptions& options,
                                   const Environment& environment);

}  // namespace gangway::bench
