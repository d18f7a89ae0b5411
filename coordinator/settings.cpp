// SPDX-License-Identifier: MIT
#include "coordinator/settings.hpp"

#include <algorithm>
#include <cmath>

#include "base/atomic_file.hpp"
#include "coordinator/resume/equal_arithmetic.hpp"
#include "coordinator/steering/settable_keys.hpp"
#include "coordinator/trouble/loss_bound.hpp"
#include "coordinator/trouble/watch_history.hpp"
#include "job/decisions.hpp"
#include "job/file/fingerprint.hpp"
#include "job/layout/layout.hpp"
#include "run/control/steering_file.hpp"
#include "run/control_protocol.hpp"
#include "run/restart_file.hpp"

namespace gangway::coordinator {
namespace {

// A wait for a peer ends after layout.timeout_seconds with a report to the coordinator. Silence is
// a fault only after that.
constexpr double kTimeoutsOfSilence = 2.0;
constexpr double kLeastSilenceSeconds = 60.0;

messages::Welcome welcome(const StartedRun& run, int num_workers) {
  return {.job_yaml = run.job_yaml,
          .fingerprint = job_fingerprint(run.spec),
          .run_directory = run.directory.string(),
          .layout = resolve_layout(run.spec, num_workers),
          .trace = run.trace,
          .goes_on = run.goes_on,
          .run_id = run.start.run_id,
          .incarnation = run.start.incarnation,
          .changes = changes_of(run.decisions)};
}

/// Balances only networks that are neither apart nor cut, so that workers compute micro-batches
/// alone. Needs the tree order of sums, because NCCL's sums depend on the distribution.
BalancePlan balance_plan(const JobSpec& spec, const Layout& layout,
                         const SteeringEvents& steering) {
  BalancePlan plan{.is_on = spec.layout.balance == Balance::kAuto && !layout.is_apart() &&
                            spec.numerics.order == SumOrder::kTree && layout.num_workers() > 1};
  for (const MicrobatchRange range : layout.shared_ranges()) {
    plan.shares.push_back(range.size());
  }
  for (const SteeringEvent& event : steering) {
    if (event.command == kBalance) {
      plan.last_balance_unix = event.unix_seconds;
    }
  }
  return plan;
}

/// Turns decisions off for a run that repeats another: the other run made them, and a start in the
/// middle might decide otherwise.
JobSpec without_decisions(JobSpec spec) {
  spec.training.divergence = {.loss_bound = 0.0, .saturated_ticks = 0};
  spec.training.plateau = {};
  spec.checkpoint.early_stop = 0;
  return spec;
}

}  // namespace

RunCoreSettings run_core_settings(const StartedRun& run, int num_workers) {
  const JobSpec spec = run.replays ? without_decisions(run.spec) : run.spec;
  RunCoreSettings settings;
  settings.num_workers = num_workers;
  settings.welcome = welcome(run, num_workers);
  const PerNetwork<std::string> names = spec.network_names();
  settings.divergence = spec.training.divergence;
  for (const RecipeNetwork& network : spec.training.recipe->networks) {
    settings.watched.push_back({.name = std::string(network.name),
                                .judges = judges(network.role),
                                .loss_bound = loss_bound(spec, network)});
  }
  settings.decisions = run.decisions;
  if (run.is_again) {  // only a restart has a previous start of this command
    settings.arithmetic_before = run.start.computed >= run.start.commanded
                                     ? arithmetic_of(run.start.software)
                                     : messages::Arithmetic{};
  }
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  if (const auto text = read_small_file(run.directory / kWatchFile, kMostBytes)) {
    settings.watch_history = WatchHistory::parse(*text);
  }
  const SteeringEvents steering = read_steering(run.directory);
  const ActiveCommands standing = active_commands(spec, steering);
  const SteeredPlan plan = steered_plan(standing.job);
  settings.job = spec;
  settings.steered_job = standing.job;
  if (standing.is_paused) {
    settings.pause = {.unix_seconds = standing.paused_since, .by = standing.paused_by};
  }
  settings.leases = {.total_steps = run.end_step,
                     .tick_steps = plan.tick_steps,
                     .picture_steps = plan.picture_steps,
                     .checkpoint_steps = plan.checkpoint_steps};
  settings.balance = balance_plan(spec, settings.welcome.layout, steering);
  settings.scores = score_plan(spec);
  settings.snapshots = {.every = plan.snapshot_steps, .most_cost = spec.checkpoint.snapshot_cost};
  for (const Restart& restart : run.restarts) {
    ++settings.snapshots.losses;
    settings.snapshots.watched_seconds += restart.ran_seconds;
  }
  settings.ticks = {.num_workers = num_workers,
                    .microbatches = spec.training.microbatches,
                    .are_apart = settings.welcome.layout.is_apart(),
                    .networks = {names.begin(), names.end()},
                    .images_per_step = spec.images_per_step(),
                    .total_steps = run.end_step,
                    .tick_steps = plan.tick_steps};
  const double silence =
      std::max(kLeastSilenceSeconds, kTimeoutsOfSilence * spec.layout.timeout_seconds);
  settings.progress_floor =
      std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(silence * 1000.0)));
  settings.save_alarm = std::chrono::milliseconds(
      static_cast<std::int64_t>(std::ceil(spec.layout.timeout_seconds * 1000.0)));
  settings.save_floor = kTimeoutsToWrite * settings.save_alarm;
  settings.limits.heartbeat =
      std::clamp(settings.save_alarm, kLeastHeartbeatDeadline, kHeartbeatDeadline);
  settings.save_interval = plan.save_interval;
  return settings;
}

}  // namespace gangway::coordinator
