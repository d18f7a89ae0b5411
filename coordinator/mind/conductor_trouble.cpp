// SPDX-License-Identifier: MIT
// What the Conductor does where training is in trouble: it warns, ends the job, or decides on a
// rollback, which is on the disk before the job ends for it.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "coordinator/mind/conductor.hpp"
#include "coordinator/trouble/rollback.hpp"

namespace gangway::coordinator {

Effects Conductor::look_for_trouble(int rank, const std::optional<report::Tick>& tick) {
  if (ticks_.steps_done() > looked_at_) {
    looked_at_ = ticks_.steps_done();
    if (const auto trouble = troubles_.step(looked_at_, ticks_.last_losses())) {
      return answer(*trouble, rank);
    }
  }
  if (!tick) {
    return {};
  }
  std::vector<double> losses;
  for (const report::NetworkLoss& one : tick->losses) {
    losses.push_back(one.loss);
  }
  const auto saturation = troubles_.tick(tick->step, losses);
  if (!saturation) {
    return {};
  }
  return settings_.divergence.saturation_is_trouble ? answer(*saturation, rank)
                                                    : Effects{Say{"warn  " + saturation->what}};
}

Effects Conductor::answer(const Trouble& trouble, int rank) {
  const DivergenceSpec& spec = settings_.divergence;
  auto decision =
      rollback_of(spec, settings_.decisions, trouble, settings_.welcome.incarnation);
  if (!decision) {
    const std::string story = rollback_story(spec, settings_.decisions);
    return end(ExitCode::kDiverged, rank,
               story.empty() ? trouble.what : fmt::format("{}; {}", trouble.what, story));
  }
  const std::string back =
      describe_rollback(spec, *decision, num_rollbacks(settings_.decisions) + 1);
  end_when_recorded_ =
      Outcome{.exit_code = static_cast<int>(ExitCode::kDiverged),
              .reason = fmt::format("{}; the job {}: `gangway run` starts it again by itself, "
                                    "after a bare mpirun {}",
                                    trouble.what, back, settings_.go_on),
              .rank = rank,
              .step = ticks_.steps_done(),
              .orderly = false,
              .rolled_back = true};
  settings_.decisions.push_back(std::move(*decision));
  return {RecordDecisions{settings_.decisions}};
}

Effects Conductor::recorded() {
  if (ended_ || !end_when_recorded_) {
    return {};
  }
  return end_with(std::move(*end_when_recorded_));
}

Effects Conductor::unrecorded(const std::string& reason) {
  return ended_ ? Effects{} : end(ExitCode::kEnvironment, 0, reason);
}

}  // namespace gangway::coordinator
