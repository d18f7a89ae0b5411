// SPDX-License-Identifier: MIT
// What `gangway run` was asked for on its command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gangway::launch {

struct RunOptions {
  std::filesystem::path job_file;
  std::vector<std::string> overrides;
  int workers = 0;  ///< 0: as many as the job and the machine allow
  std::filesystem::path outdir = "runs";
  std::string run_name;  ///< empty: the job file's stem
  std::string resume = "auto";
  std::filesystem::path hostfile;
  std::uint16_t lifeline_port = 0;
  std::filesystem::path replay;   ///< checkpoint of another run, up to which this one repeats it
  std::string trace;              ///< steps to trace, as 100:110; empty: none
  std::string progress = "auto";  ///< auto, lines, bar
  std::string profile;            ///< whose plan's layout is taken; empty: as the job says
  bool dry_run = false;
  bool fit = false;      ///< measures the memory of a few steps, and ends
  bool verbose = false;  ///< says mpirun's command
};

}  // namespace gangway::launch
