// SPDX-License-Identifier: MIT
// Converts a job's status to JSON for the live page's modules: docs/metrics.md. Pure.
#pragma once

#include <string>

#include "coordinator/steering/job_status.hpp"

namespace gangway::coordinator {

/// Returns one JSON object on one line, with the members' names as keys. A number that is not
/// finite becomes null. Omits the tick, which has its own event.
[[nodiscard]] std::string status_json(const JobStatus& status);

}  // namespace gangway::coordinator
