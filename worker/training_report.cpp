// SPDX-License-Identifier: MIT
// Reports each step of a worker's training to the coordinator.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "worker/training.hpp"

namespace gangway::worker {

void Training::report(std::int64_t steps_done) {
  messages::Progress progress;
  progress.step = steps_done;
  progress.figures = clock_.take();
  device_clock_->tell(progress.figures);
  progress.figures.loader = reals_.take_loader_figures();
  const PartScope part = in_part(messages::StepPart::kReport);  // counts for the next step
  if (steps_done == setup_.job.total_steps()) {
    memory_.read_anew();  // no later report would show a peak
  }
  progress.memory = memory_.now();
  memory_.tell_quota(progress.figures);
  // Exposures between two steps, before a checkpoint or a picture, are reported with the next step.
  progress.exposures = exposures();
  for (const messages::PhaseExposure& exposure : progress.exposures) {
    progress.figures.exposed_seconds += exposure.seconds;
  }
  progress.unfired = operations_.take_unfired();
  progress.gauges = setup_.device.gauges();
  // Bytes sent between two steps count for the next step.
  const std::uint64_t sent = bytes_sent();
  progress.sent_bytes = sent - std::exchange(reported_bytes_, sent);
  progress.skips = operations_.take_skips();
  progress.snapshot = snapshots_.taker().newest();
  progress.snapshot_seconds = snapshots_.taker().seconds();
  progress.snapshot_wait_seconds = snapshots_.taker().wait_seconds();
  if (const BuddyCopies* copies = snapshots_.copies()) {
    progress.copied_snapshot = copies->copied();
    progress.tried_snapshot = copies->tried();
  }
  progress.snapshot_bytes = snapshots_.taker().bytes();
  operations_.tell_updates(progress);
  send_report();
  unsent_.emplace(
      UnsentReport{std::move(progress), operations_.take_losses(), operations_.has_histograms()});
  if (!setup_.device.lags_behind()) {
    send_report();
  }
}

void Training::send_report() {
  if (!unsent_) {
    return;
  }
  const PartScope part = in_part(messages::StepPart::kReport);
  unsent_->progress.losses = unsent_->losses.read();
  if (unsent_->has_histograms) {
    std::ranges::move(unsent_->losses.read_histograms(unsent_->progress.step),
                      std::back_inserter(unsent_->progress.histograms));
  }
  setup_.link.send(unsent_->progress);
  const std::int64_t told = unsent_->progress.step;
  unsent_.reset();
  // Report the losses of the following step first: if they show the divergence, they date it.
  snapshots_.taker().require_finite_before(told);
}

std::vector<messages::PhaseExposure> Training::exposures() {
  std::vector<messages::PhaseExposure> exposures;
  for (const Exposure& one : operations_.take_exposures()) {
    auto sum = std::ranges::find(exposures, one.phase, &messages::PhaseExposure::phase);
    if (sum == exposures.end()) {
      const pipeline::Phase& phase = phases_.at(static_cast<std::size_t>(one.phase));
      exposures.push_back({.phase = one.phase,
                           .name = phase.name,
                           .by_bucket = std::vector<double>(one.by_bucket.size(), 0.0),
                           .agrees = phase.agrees});
      sum = exposures.end() - 1;
    }
    sum->seconds += one.seconds;
    std::ranges::transform(sum->by_bucket, one.by_bucket, sum->by_bucket.begin(), std::plus());
  }
  return exposures;
}

}  // namespace gangway::worker
