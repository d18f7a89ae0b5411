// SPDX-License-Identifier: MIT
#include "coordinator/core/tick_accounting.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/numbers/median.hpp"
#include "base/units.hpp"
#include "run/messages/step_parts.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::size_t kMedianSteps = 31;

template <typename Number>
void add(Number& sum, const Number& more) {
  sum += more;
}
void add(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(std::max(sums.size(), more.size()), 0.0);
  std::ranges::transform(more, sums, sums.begin(), std::plus());
}
/// Adds every figure of the struct.
void add(messages::StepFigures& sums, const messages::StepFigures& more) {
  std::apply(
      [&more](auto&... sum) {
        std::apply([&](const auto&... figure) { (add(sum, figure), ...); },
                   messages::StepFigures::fields(more));
      },
      messages::StepFigures::fields(sums));
}

/// @param sums  by phase
void add(std::vector<messages::PhaseExposure>& sums, const messages::PhaseExposure& more) {
  const auto sum =
      std::ranges::lower_bound(sums, more.phase, std::less(), &messages::PhaseExposure::phase);
  if (sum == sums.end() || sum->phase != more.phase) {
    sums.insert(sum, more);
    return;
  }
  sum->seconds += more.seconds;
  add(sum->by_bucket, more.by_bucket);
}

/// Returns, by micro-batch, the sums over the workers, added in the order of their ranks.
std::map<int, messages::MicrobatchLoss> joined(const std::map<Rank, messages::Progress>& told) {
  std::map<int, messages::MicrobatchLoss> sums;
  for (const auto& [rank, progress] : told) {
    for (const messages::MicrobatchLoss& loss : progress.losses) {
      const auto [sum, is_first] = sums.emplace(loss.microbatch, loss);
      if (is_first) {
        continue;
      }
      std::ranges::transform(loss.by_network, sum->second.by_network,
                             sum->second.by_network.begin(), std::plus());
      sum->second.figures.insert(sum->second.figures.end(), loss.figures.begin(),
                                 loss.figures.end());
    }
  }
  return sums;
}

using messages::StepPart;

constexpr std::initializer_list<StepPart> kExchangeWaits = {
    StepPart::kExchange, StepPart::kOptimizer, StepPart::kWorkers, StepPart::kMessages,
    StepPart::kDevice};
constexpr std::initializer_list<StepPart> kWaitsForOthers = {
    StepPart::kExchange, StepPart::kOptimizer, StepPart::kWorkers,    StepPart::kMessages,
    StepPart::kDevice,   StepPart::kTensors,   StepPart::kCoordinator};

double seconds_in(const messages::StepFigures& figures, std::initializer_list<StepPart> parts) {
  double sum = 0.0;
  for (const StepPart part : parts) {
    sum += messages::index_of(part) < figures.parts.size() ? figures.parts[messages::index_of(part)]
                                                           : 0.0;
  }
  return sum;
}

double percent(double seconds, double of) { return of > 0.0 ? 100.0 * seconds / of : 0.0; }

}  // namespace

TickAccounting::TickAccounting(const TickPlan& plan)
    : plan_(plan),
      part_names_(messages::step_part_names(plan.networks)),
      steps_done_(plan.start_step),
      index_(plan.first_index),
      checkpoint_step_(plan.checkpoint_step),
      figures_(plan.networks),
      loss_sums_(plan.networks.size()),
      last_losses_(plan.networks.size()) {}

void TickAccounting::require_finite_losses(std::int64_t step, const OpenStep& open) {
  for (const auto& [microbatch, loss] : open.losses) {
    const auto bad = std::ranges::find_if_not(loss.by_network,
                                              [](double value) { return std::isfinite(value); });
    if (bad == loss.by_network.end()) {
      continue;
    }
    const auto network = static_cast<std::size_t>(bad - loss.by_network.begin());
    for (const auto& [rank, told] : open.told) {
      if (std::ranges::any_of(told.losses, [&, wanted = microbatch](const auto& one) {
            return one.microbatch == wanted && !std::isfinite(one.by_network[network]);
          })) {
        diverged_rank_ = rank;
      }
    }
    throw DivergedError(
        fmt::format("step {}: the {}'s loss of micro-batch {} is {} (rank {}): lower its lr, set "
                    "clip_norm, or try another seed",
                    step, plan_.networks[network], microbatch, *bad, diverged_rank_),
        step);
  }
}

void TickAccounting::start(TimePoint now) { started_ = tick_started_ = step_started_ = now; }

void TickAccounting::forgive(std::chrono::steady_clock::duration gap) {
  started_ += gap;
  tick_started_ += gap;
  step_started_ += gap;
  forgiven_seconds_ += seconds(gap);
}

std::optional<report::Tick> TickAccounting::add(Rank rank, const messages::Progress& progress,
                                                TimePoint now, double unix_seconds) {
  const std::int64_t step = progress.step;
  if (step <= steps_done_) {
    throw InvariantError(fmt::format("rank {} reported step {} after step {} was complete", rank,
                                     step, steps_done_));
  }
  OpenStep& open = open_[step];
  for (const messages::MicrobatchLoss& loss : progress.losses) {
    if (loss.by_network.size() != plan_.networks.size()) {
      throw InvariantError(fmt::format("rank {} reported losses of {} networks, and there are {}",
                                       rank, loss.by_network.size(), plan_.networks.size()));
    }
    if (!open.losses.emplace(loss.microbatch, loss).second && !plan_.are_apart) {
      throw InvariantError(
          fmt::format("step {}: micro-batch {} was reported twice, the second time by rank {}",
                      step, loss.microbatch, rank));
    }
  }
  open.told.emplace(rank, progress);
  if (static_cast<int>(open.told.size()) < plan_.num_workers) {
    return std::nullopt;
  }
  if (plan_.are_apart) {
    open.losses = joined(open.told);
  }
  close_step(step, open, now);
  open_.erase(step);
  const bool is_tick = steps_done_ % std::max<std::int64_t>(1, plan_.tick_steps) == 0 ||
                       steps_done_ == plan_.total_steps;
  return is_tick ? std::optional(close_tick(now, unix_seconds)) : std::nullopt;
}

void TickAccounting::add_to_tick(Rank rank, const messages::Progress& step) {
  Sum& sum = sums_[rank];
  coordinator::add(sum.progress.figures, step.figures);
  for (const messages::PhaseExposure& exposure : step.exposures) {
    coordinator::add(sum.progress.exposures, exposure);
  }
  sum.progress.unfired = std::max(sum.progress.unfired, step.unfired);
  sum.progress.memory = step.memory;
  sum.progress.gauges = step.gauges;
  sum.progress.sent_bytes += step.sent_bytes;
  // Every step reports the newest snapshot: count it only if it is new and of this run.
  const auto newest = newest_snapshots_.try_emplace(rank, plan_.start_step).first;
  if (step.snapshot > newest->second) {
    newest->second = *step.snapshot;
    ++sum.snapshots;
    sum.progress.snapshot_seconds += step.snapshot_seconds;
    sum.progress.snapshot_wait_seconds += step.snapshot_wait_seconds;
    sum.progress.snapshot_bytes += step.snapshot_bytes;
  }
}

void TickAccounting::close_step(std::int64_t step, const OpenStep& open, TimePoint now) {
  if (step != steps_done_ + 1 || static_cast<int>(open.losses.size()) != plan_.microbatches) {
    throw InvariantError(
        fmt::format("step {} came complete after step {} with {} of {} micro-batches", step,
                    steps_done_, open.losses.size(), plan_.microbatches));
  }
  // Checked only when all have reported, so that the order of arrival does not select step or loss.
  require_finite_losses(step, open);
  for (std::size_t network = 0; network < loss_sums_.size(); ++network) {
    double sum = 0.0;
    for (const auto& [microbatch, loss] : open.losses) {
      sum += loss.by_network[network];
    }
    last_losses_[network] = sum / plan_.microbatches;
    loss_sums_[network] += last_losses_[network];
  }
  for (const auto& [rank, progress] : open.told) {
    add_to_tick(rank, progress);
  }
  figures_.add_step(open.losses, open.told);
  steps_done_ = step;
  ++steps_in_tick_;
  step_seconds_.push_back(seconds(now - step_started_));
  if (step_seconds_.size() > kMedianSteps) {
    step_seconds_.pop_front();
  }
  step_started_ = now;
}

report::Tick TickAccounting::close_tick(TimePoint now, double unix_seconds) {
  const auto steps = static_cast<double>(steps_in_tick_);
  const auto kimg_of = [&](std::int64_t num_steps) {
    return static_cast<double>(num_steps * plan_.images_per_step) / 1000.0;
  };
  report::Tick tick;
  tick.index = index_++;
  tick.step = steps_done_;
  tick.kimg = kimg_of(steps_done_);
  tick.seconds_total = plan_.earlier_seconds + seconds(now - started_);
  tick.seconds_tick = seconds(now - tick_started_);
  tick.part_names = part_names_;
  const double kimg = kimg_of(steps_in_tick_);
  tick.seconds_per_kimg = tick.seconds_tick / kimg;
  tick.images_per_second = tick.seconds_tick > 0.0 ? kimg * 1000.0 / tick.seconds_tick : 0.0;
  for (std::size_t network = 0; network < loss_sums_.size(); ++network) {
    tick.losses.push_back(
        {plan_.networks[network], std::exchange(loss_sums_[network], 0.0) / steps});
  }
  tell_workers(tick);
  tell_memory(tick);
  tell_exposures(tick);
  keep_means(tick.seconds_tick);
  figures_.tell(tick);
  tick.checkpoint_age_kimg = kimg_of(steps_done_ - checkpoint_step_);
  tick.unix_seconds = unix_seconds;
  tick_started_ = now;
  steps_in_tick_ = 0;
  forgiven_seconds_ = 0.0;
  sums_.clear();
  return tick;
}

void TickAccounting::keep_means(double tick_seconds) {
  const auto steps = static_cast<double>(steps_in_tick_);
  last_means_.clear();
  for (const auto& [rank, sum] : sums_) {
    const messages::StepFigures& figures = sum.progress.figures;
    last_means_[rank] = {
        .work_seconds = std::max(0.0, tick_seconds - figures.exposed_seconds) / steps,
        .wait_seconds = figures.exposed_seconds / steps,
        .data_seconds = seconds_in(figures, {StepPart::kData}) / steps,
        .sent_bytes = static_cast<double>(sum.progress.sent_bytes) / steps,
        .memory = sum.progress.memory,
        .gauges = sum.progress.gauges};
  }
}

void TickAccounting::tell_workers(report::Tick& tick) const {
  std::uint64_t sent_bytes = 0;
  std::uint64_t snapshot_bytes = 0;
  for (const auto& [rank, sum] : sums_) {
    const messages::Progress& worker = sum.progress;
    const auto raise = [](auto& most, auto value) {
      most = std::max(most, static_cast<std::decay_t<decltype(most)>>(value));
    };
    tick.parts.push_back(parts_of(rank, worker.figures));
    tick.parts.back().memory = worker.memory;
    const double all = own_seconds(tick.parts.back(), tick);
    const auto share = [&](std::initializer_list<StepPart> parts) {
      return percent(seconds_in(worker.figures, parts), all);
    };
    raise(tick.exposed_percent, percent(worker.figures.exposed_seconds, all));
    raise(tick.data_percent, share({StepPart::kData}));
    raise(tick.check_percent, share({StepPart::kChecks}));
    raise(tick.host_wait_percent, share(kExchangeWaits));
    raise(tick.throttled_percent, percent(static_cast<double>(worker.figures.throttled_periods),
                                          static_cast<double>(worker.figures.quota_periods)));
    raise(tick.unfired, worker.unfired);
    raise(tick.snapshots, sum.snapshots);
    raise(tick.snapshot_seconds, worker.snapshot_seconds);
    raise(tick.snapshot_wait_seconds, worker.snapshot_wait_seconds);
    sent_bytes += worker.sent_bytes;
    snapshot_bytes += worker.snapshot_bytes;
  }
  tick.sent_mib_per_step =
      static_cast<double>(sent_bytes) / kMebibyte / static_cast<double>(steps_in_tick_);
  tick.snapshot_percent = percent(tick.snapshot_seconds, tick.seconds_tick);
  tick.snapshot_mib = static_cast<double>(snapshot_bytes) / kMebibyte;
}

void TickAccounting::tell_memory(report::Tick& tick) {
  report::TickMemory& memory = tick.memory;
  double narrowest = -1.0;
  for (const auto& [rank, sum] : sums_) {
    const messages::MemoryFigures& own = sum.progress.memory;
    const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kGibibyte; };
    memory.resident_gib += gib(own.resident_bytes);
    memory.allocated_gib += gib(own.allocated_bytes);
    memory.reserved_gib += gib(own.reserved_bytes);
    memory.peak_gib = std::max(memory.peak_gib, gib(own.peak_bytes));
    std::uint64_t& told = reported_retries_[rank];
    memory.retries += static_cast<std::int64_t>(own.retries - std::min(own.retries, told));
    told = own.retries;
    report::note_gpu(tick, rank, sum.progress.gauges);
    const double share = percent(gib(own.used_bytes), gib(own.limit_bytes));
    if (own.limit_bytes > 0 && share > narrowest) {
      narrowest = share;
      memory.used_gib = gib(own.used_bytes);
      memory.limit_gib = gib(own.limit_bytes);
      memory.limit = own.limit;
    }
  }
}

report::WorkerParts TickAccounting::parts_of(Rank rank,
                                             const messages::StepFigures& figures) const {
  const auto steps = static_cast<double>(steps_in_tick_);
  report::WorkerParts parts{.rank = rank, .seconds = figures.parts};
  parts.seconds.resize(part_names_.size(), 0.0);
  // Workers that wait for a lease during a pause are not waiting for the coordinator.
  double& coordinator = parts.seconds[messages::index_of(StepPart::kCoordinator)];
  const double paused = std::min(coordinator, forgiven_seconds_);
  coordinator -= paused;
  const double waits = seconds_in(figures, kWaitsForOthers) - paused;
  const double works = parts.step_seconds() - waits - seconds_in(figures, {StepPart::kData});
  parts.core_share = works > 0.0 ? std::min(1.0, figures.core_seconds / works) : 0.0;
  parts.waits_seconds = waits / steps;
  parts.other_cores = figures.other_core_seconds / std::max(1e-9, parts.step_seconds());
  parts.preemptions_per_step = static_cast<double>(figures.preemptions) / steps;
  parts.major_faults_per_step = static_cast<double>(figures.major_faults) / steps;
  parts.loader = figures.loader;
  parts.loader.resize(std::min(parts.loader.size(), messages::kLoaderFigureNames.size()));
  if (figures.device_steps > 0) {
    parts.device_seconds = figures.device_parts;
    parts.device_seconds.resize(part_names_.size(), 0.0);
    const auto looked_at = static_cast<double>(figures.device_steps);
    std::ranges::for_each(parts.device_seconds, [&](double& each) { each /= looked_at; });
    parts.device_starved_share =
        static_cast<double>(figures.device_starved) /
        static_cast<double>(std::max<std::uint64_t>(1, figures.device_marks));
  }
  for (std::vector<double>* sums : {&parts.seconds, &parts.loader}) {
    for (double& each : *sums) {
      each /= steps;
    }
  }
  return parts;
}

double TickAccounting::own_seconds(const report::WorkerParts& parts,
                                   const report::Tick& tick) const {
  const double seconds = parts.step_seconds() * static_cast<double>(steps_in_tick_);
  return seconds > 0.0 ? seconds : tick.seconds_tick;
}

/// Reports the exposures of the worker that waited most: figures of one worker add up.
void TickAccounting::tell_exposures(report::Tick& tick) const {
  const auto worst = std::ranges::max_element(sums_, std::less(), [](const auto& entry) {
    return entry.second.progress.figures.exposed_seconds;
  });
  if (worst == sums_.end()) {
    return;
  }
  const auto steps = static_cast<double>(steps_in_tick_);
  const double all = own_seconds(parts_of(worst->first, worst->second.progress.figures), tick);
  for (const messages::PhaseExposure& phase : worst->second.progress.exposures) {
    report::ExposedPhase told{.phase = phase.name,
                              .percent = percent(phase.seconds, all),
                              .seconds_per_step = phase.seconds / steps,
                              .by_bucket = phase.by_bucket,
                              .agrees = phase.agrees};
    for (double& waited : told.by_bucket) {
      waited /= steps;
    }
    tick.exposed.push_back(std::move(told));
  }
}

double TickAccounting::median_step_seconds() const {
  return median_of({step_seconds_.begin(), step_seconds_.end()});
}

}  // namespace gangway::coordinator
