// SPDX-License-Identifier: MIT
#include "coordinator/mind/tick_accounting.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::size_t kMedianSteps = 31;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr double kMebibyte = 1024.0 * 1024.0;

void require_finite(double loss, const char* network, const MicrobatchLoss& at,
                    const StepProgress& progress) {
  if (!std::isfinite(loss)) {
    throw DivergedError(
        fmt::format("step {}: the {}'s loss of micro-batch {} is {} (rank {}): lower its lr, set "
                    "clip_norm, or try another seed",
                    progress.step, network, at.microbatch, loss, progress.rank));
  }
}

}  // namespace

TickAccounting::TickAccounting(const TickPlan& plan)
    : plan_(plan),
      steps_done_(plan.start_step),
      index_(plan.first_index),
      checkpoint_step_(plan.checkpoint_step) {}

void TickAccounting::WorkerSeconds::add(const WorkerSeconds& more) {
  exposed += more.exposed;
  data += more.data;
  check += more.check;
  host_wait += more.host_wait;
  snapshots += more.snapshots;
  snapshot_waits += more.snapshot_waits;
  num_snapshots += more.num_snapshots;
  for (const auto& [index, phase] : more.phases) {
    PhaseExposure& sum = phases[index];
    sum.phase = index;
    sum.name = phase.name;
    sum.agrees = phase.agrees;
    sum.seconds += phase.seconds;
    sum.by_bucket.resize(std::max(sum.by_bucket.size(), phase.by_bucket.size()), 0.0);
    std::ranges::transform(phase.by_bucket, sum.by_bucket, sum.by_bucket.begin(), std::plus());
  }
}

void TickAccounting::start(TimePoint now) { started_ = tick_started_ = step_started_ = now; }

std::optional<report::Tick> TickAccounting::add(const StepProgress& progress, TimePoint now,
                                                double unix_seconds) {
  if (progress.step <= steps_done_) {
    throw InvariantError(fmt::format("rank {} reported step {} after step {} was complete",
                                     progress.rank, progress.step, steps_done_));
  }
  OpenStep& open = open_[progress.step];
  for (const MicrobatchLoss& loss : progress.losses) {
    require_finite(loss.generator, "generator", loss, progress);
    require_finite(loss.discriminator, "discriminator", loss, progress);
    if (!open.losses.emplace(loss.microbatch, loss).second) {
      throw InvariantError(
          fmt::format("step {}: micro-batch {} was reported twice, the second time by rank {}",
                      progress.step, loss.microbatch, progress.rank));
    }
  }
  WorkerSeconds& worker = open.seconds[progress.rank];
  worker = {.exposed = progress.exposed_seconds,
            .data = progress.data_seconds,
            .check = progress.check_seconds,
            .host_wait = progress.host_wait_seconds};
  for (const PhaseExposure& exposure : progress.exposures) {
    worker.phases[exposure.phase] = exposure;
  }
  // Every step names the newest: it counts when it is new, and when it is of this run.
  const auto newest = newest_snapshots_.try_emplace(progress.rank, plan_.start_step).first;
  if (progress.snapshot.step > newest->second) {
    newest->second = progress.snapshot.step;
    worker.num_snapshots = 1;
    worker.snapshots = progress.snapshot.seconds;
    worker.snapshot_waits = progress.snapshot.wait_seconds;
    open.snapshot_bytes += progress.snapshot.bytes;
  }
  open.unfired = std::max(open.unfired, progress.unfired);
  open.resident_bytes += progress.resident_bytes;
  open.sent_bytes += progress.sent_bytes;
  if (++open.num_workers < plan_.num_workers) {
    return std::nullopt;
  }
  close_step(progress.step, open, now);
  open_.erase(progress.step);
  const bool is_tick = steps_done_ % std::max<std::int64_t>(1, plan_.tick_steps) == 0 ||
                       steps_done_ == plan_.total_steps;
  return is_tick ? std::optional(close_tick(now, unix_seconds)) : std::nullopt;
}

void TickAccounting::close_step(std::int64_t step, const OpenStep& open, TimePoint now) {
  if (step != steps_done_ + 1 || static_cast<int>(open.losses.size()) != plan_.microbatches) {
    throw InvariantError(
        fmt::format("step {} came complete after step {} with {} of {} micro-batches", step,
                    steps_done_, open.losses.size(), plan_.microbatches));
  }
  double generator = 0.0;
  double discriminator = 0.0;
  for (const auto& [microbatch, loss] : open.losses) {
    generator += loss.generator;
    discriminator += loss.discriminator;
  }
  generator_sum_ += generator / plan_.microbatches;
  discriminator_sum_ += discriminator / plan_.microbatches;
  for (const auto& [rank, worker] : open.seconds) {
    seconds_[rank].add(worker);
  }
  unfired_ = std::max(unfired_, open.unfired);
  resident_bytes_ = open.resident_bytes;
  sent_bytes_ += open.sent_bytes;
  snapshot_bytes_ += open.snapshot_bytes;
  steps_done_ = step;
  ++steps_in_tick_;
  step_seconds_.push_back(seconds(now - step_started_));
  if (step_seconds_.size() > kMedianSteps) {
    step_seconds_.pop_front();
  }
  step_started_ = now;
}

report::Tick TickAccounting::close_tick(TimePoint now, double unix_seconds) {
  const double steps = static_cast<double>(steps_in_tick_);
  const auto kimg_of = [&](std::int64_t num_steps) {
    return static_cast<double>(num_steps * plan_.images_per_step) / 1000.0;
  };
  report::Tick tick;
  tick.index = index_++;
  tick.step = steps_done_;
  tick.kimg = kimg_of(steps_done_);
  tick.seconds_total = plan_.earlier_seconds + seconds(now - started_);
  tick.seconds_tick = seconds(now - tick_started_);
  const double kimg = kimg_of(steps_in_tick_);
  tick.seconds_per_kimg = tick.seconds_tick / kimg;
  tick.images_per_second = tick.seconds_tick > 0.0 ? kimg * 1000.0 / tick.seconds_tick : 0.0;
  tick.generator_loss = generator_sum_ / steps;
  tick.discriminator_loss = discriminator_sum_ / steps;
  add_exposures(tick);
  add_snapshots(tick);
  tick.resident_gib = static_cast<double>(resident_bytes_) / kGibibyte;
  tick.sent_mib_per_step = static_cast<double>(sent_bytes_) / kMebibyte / steps;
  tick.checkpoint_age_kimg = kimg_of(steps_done_ - checkpoint_step_);
  tick.unix_seconds = unix_seconds;
  tick_started_ = now;
  steps_in_tick_ = 0;
  generator_sum_ = discriminator_sum_ = 0.0;
  sent_bytes_ = 0;
  snapshot_bytes_ = 0;
  unfired_ = 0;
  seconds_.clear();
  return tick;
}

void TickAccounting::add_exposures(report::Tick& tick) const {
  const double steps = static_cast<double>(steps_in_tick_);
  const auto percent = [&](double waited) {
    return tick.seconds_tick > 0.0 ? 100.0 * waited / tick.seconds_tick : 0.0;
  };
  const WorkerSeconds* worst = nullptr;  // its phases are told, so that they add up
  for (const auto& [rank, worker] : seconds_) {
    tick.data_percent = std::max(tick.data_percent, percent(worker.data));
    tick.check_percent = std::max(tick.check_percent, percent(worker.check));
    tick.host_wait_percent = std::max(tick.host_wait_percent, percent(worker.host_wait));
    if (worst == nullptr || worker.exposed > worst->exposed) {
      worst = &worker;
    }
  }
  tick.unfired = static_cast<std::int64_t>(unfired_);
  if (worst == nullptr) {
    return;
  }
  tick.exposed_percent = percent(worst->exposed);
  for (const auto& [index, phase] : worst->phases) {
    report::ExposedPhase told{.phase = phase.name,
                              .percent = percent(phase.seconds),
                              .seconds_per_step = phase.seconds / steps,
                              .by_bucket = phase.by_bucket,
                              .agrees = phase.agrees};
    for (double& waited : told.by_bucket) {
      waited /= steps;
    }
    tick.exposed.push_back(std::move(told));
  }
}

void TickAccounting::add_snapshots(report::Tick& tick) const {
  for (const auto& [rank, worker] : seconds_) {
    tick.snapshots = std::max(tick.snapshots, worker.num_snapshots);
    tick.snapshot_seconds = std::max(tick.snapshot_seconds, worker.snapshots);
    tick.snapshot_wait_seconds = std::max(tick.snapshot_wait_seconds, worker.snapshot_waits);
  }
  tick.snapshot_percent =
      tick.seconds_tick > 0.0 ? 100.0 * tick.snapshot_seconds / tick.seconds_tick : 0.0;
  tick.snapshot_mib = static_cast<double>(snapshot_bytes_) / kMebibyte;
}

double TickAccounting::median_step_seconds() const {
  if (step_seconds_.empty()) {
    return 0.0;
  }
  std::vector<double> sorted(step_seconds_.begin(), step_seconds_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace gangway::coordinator
