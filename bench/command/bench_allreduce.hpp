// SPDX-License-Identifier: MIT
// `gangway bench allreduce`: starts the measuring program under mpirun, as `gangway run` starts a
// job. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "launch/process/environment.hpp"

namespace gangway::bench {

struct AllreduceOptions {
  std::vector<int> workers{2, 4};  ///< one measurement each
  std::filesystem::path hostfile;
  std::string sizes = "1M,4M,16M,64M";
  std::string transports;  ///< empty: all that fit the hosts
  std::string line_rate;   ///< of the links between hosts, as "1gbit"
  int buckets = 8;
  int rounds = 7;
  double seconds = 2.0;        ///< of each row and size, over all rounds
  int sleep_microseconds = 0;  ///< between polls that find nothing; 0: gives up the core only
  bool anyway = false;
  int corrupt_round = 0;  ///< for the test of the check
};

/// What the measuring program tells of the first number of workers on this host (`figures_json` of
/// bench/allreduce/figures.hpp), in silence. @throws Error; EnvironmentError with its last words
[[nodiscard]] nlohmann::json measured_allreduce(const AllreduceOptions& options,
                                                const Environment& environment);

/// The same of NCCL's all-reduce between so many GPUs of this host; some seconds.
[[nodiscard]] nlohmann::json measured_nccl(int gpus, const Environment& environment);

/// @return exit code of the first measurement that failed, or 0. @throws Error.
[[nodiscard]] int bench_allreduce(const AllreduceOptions& options, const Environment& environment);

}  // namespace gangway::bench
