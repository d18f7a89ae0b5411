// SPDX-License-Identifier: MIT
// What workers' messages say, as the coordinator's own values. Pure.
#pragma once

#include "coordinator/mind/checkpoint_ledger.hpp"
#include "coordinator/mind/tick_accounting.hpp"
#include "job/proto/messages.pb.h"

namespace gangway::coordinator {

[[nodiscard]] StepProgress step_progress(int rank, const messages::Progress& message);
[[nodiscard]] CheckpointFile checkpoint_file(const messages::CheckpointPart& part);

}  // namespace gangway::coordinator
