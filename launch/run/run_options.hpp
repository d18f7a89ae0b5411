// SPDX-License-Identifier: MIT
// Command-line options of `gangway run`.
#pragma once

#include <filesystem>
#include <string>

#include "run/start_request.hpp"

namespace gangway::launch {

struct RunOptions : StartRequest {
  int workers = 0;  ///< 0: as many as the job and the machine allow
  std::filesystem::path hostfile;
  std::string progress = "auto";  ///< auto, lines, bar
  std::string profile;            ///< profile whose plan gives the layout; empty: as the job says
  bool dry_run = false;
  bool fit = false;      ///< finds changes that fit the memory, and measures a few steps
  bool verbose = false;  ///< prints mpirun's command
};

}  // namespace gangway::launch
