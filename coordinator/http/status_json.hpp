// SPDX-License-Identifier: MIT
// How a job stands, as the live page's modules take it: docs/metrics.md. Pure.
#pragma once

#include <string>

#include "coordinator/steering/job_status.hpp"

namespace gangway::coordinator {

/// One JSON object on one line, keys as the members; a number that is not finite becomes null. The
/// tick is not in it: that is told by itself.
[[nodiscard]] std::string status_json(const JobStatus& status);

}  // namespace gangway::coordinator
