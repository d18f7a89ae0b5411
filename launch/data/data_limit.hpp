// SPDX-License-Identifier: MIT
// Whether there are as many examples as a job is to be trained on, asked before it is started.
// Called by `gangway run` where the data of this host are those of the workers.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// Opens the data where the job has data.limit; else nobody looks. @throws ConfigError where they
/// are fewer, or cannot be opened
void require_data_limit(const JobSpec& spec);

}  // namespace gangway::launch
