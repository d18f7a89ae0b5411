// SPDX-License-Identifier: MIT
#include "coordinator/mind/message_values.hpp"

namespace gangway::coordinator {

StepProgress step_progress(int rank, const messages::Progress& message) {
  StepProgress progress{.rank = rank,
                        .step = message.step(),
                        .losses = {},
                        .exposed_seconds = message.exposed_seconds(),
                        .data_seconds = message.data_seconds(),
                        .resident_bytes = message.resident_bytes(),
                        .sent_bytes = message.sent_bytes(),
                        .exposures = {},
                        .unfired = message.unfired(),
                        .check_seconds = message.check_seconds(),
                        .host_wait_seconds = message.host_wait_seconds(),
                        .snapshot = {.step = message.snapshot(),
                                     .seconds = message.snapshot_seconds(),
                                     .wait_seconds = message.snapshot_wait_seconds(),
                                     .bytes = message.snapshot_bytes()}};
  for (const auto& loss : message.losses()) {
    progress.losses.push_back({loss.microbatch(), loss.generator(), loss.discriminator()});
  }
  for (const auto& exposure : message.exposures()) {
    progress.exposures.push_back(
        {.phase = exposure.phase(),
         .name = exposure.name(),
         .seconds = exposure.seconds(),
         .by_bucket = {exposure.by_bucket().begin(), exposure.by_bucket().end()},
         .agrees = exposure.agrees()});
  }
  return progress;
}

CheckpointFile checkpoint_file(const messages::CheckpointPart& part) {
  return {.worker = part.worker(),
          .name = part.file(),
          .bytes = part.bytes(),
          .xxh3_128 = part.xxh3_128(),
          .error = part.error(),
          .seconds = part.seconds()};
}

}  // namespace gangway::coordinator
