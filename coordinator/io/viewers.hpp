// SPDX-License-Identifier: MIT
// Callbacks that pass a run's output to the live page, beside the terminal and the files. Each may
// be empty; none waits. Called on the event loop's thread.
#pragma once

#include <functional>
#include <string>

#include "coordinator/steering/job_status.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

struct Viewers {
  std::function<void(JobStatus)> status;  ///< about once a second
  std::function<void(const report::Tick&)> tick;
  std::function<void(const std::string&)> line;  ///< as on the terminal; may hold several lines
  std::function<void(const std::string& metric, double value)> score;  ///< of a checkpoint
};

}  // namespace gangway::coordinator
