// SPDX-License-Identifier: MIT
// What `gangway run` was asked for on its command line.
#pragma once

#include <filesystem>
#include <string>

#include "run/start_request.hpp"

namespace gangway::launch {

struct RunOptions : StartRequest {
  int workers = 0;  ///< 0: as many as the job and the machine allow
  std::filesystem::path hostfile;
  std::string progress = "auto";  ///< auto, lines, bar
  std::string profile;            ///< whose plan's layout is taken; empty: as the job says
  bool dry_run = false;
  bool fit = false;      ///< measures the memory of a few steps, and ends
  bool verbose = false;  ///< says mpirun's command
};

}  // namespace gangway::launch
