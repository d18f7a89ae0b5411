// SPDX-License-Identifier: MIT
// The Conductor's answer to failed workers, training trouble and scores: warns, ends the job, or
// decides. A decision is on the disk before it takes effect.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/mind/conductor.hpp"
#include "coordinator/trouble/rollback.hpp"
#include "job/estimate/memory_ladder.hpp"

namespace gangway::coordinator {
namespace {

/// Longest wait for reports of earlier steps; they are under way unless a worker has died.
constexpr std::chrono::seconds kTellingPatience{2};
/// Longest wait for the disk to complete a checkpoint from before the trouble: its state is healthy
/// and already in memory.
constexpr std::chrono::seconds kHealthySavePatience{10};

}  // namespace

Effects Conductor::take(const messages::Stop& stop, const Arrival& arrival) {
  const int rank = arrival.rank;
  const auto code = static_cast<ExitCode>(stop.exit_code);
  if (code == ExitCode::kDiverged) {
    const std::int64_t step = stop.step > 0 ? stop.step : ticks_.steps_done() + 1;
    membership_.leave(rank);  // it leaves by itself: not a loss
    return hold_back(
        {.step = step, .what = fmt::format("{}: {}", membership_.describe(rank), stop.reason)},
        rank, arrival.now);
  }
  if (code != ExitCode::kWorkerLost) {
    return end(code, rank, fmt::format("{}: {}", membership_.describe(rank), stop.reason));
  }
  // A complaint about a silent peer may arrive before the news of that peer's death, which is the
  // root cause.
  membership_.leave(rank);
  const bool is_known = stop.accused >= 1 && stop.accused <= settings_.num_workers;
  blame_.add({.rank = rank, .accused = is_known ? stop.accused : 0, .reason = stop.reason},
             arrival.now);
  return {};
}

void Conductor::recall_at(std::int64_t step) {
  watch_memory_.begin_at(step);
  if (const auto seen = watch_memory_.at(step)) {
    troubles_.go_on_from(*seen);
  }
}

void Conductor::remember_at(const messages::Lease& lease, bool saves) {
  remembered_steps_.insert(lease.snapshots.begin(), lease.snapshots.end());
  if (saves) {
    remembered_steps_.insert(lease.end);
  }
}

Effects Conductor::keep_watch() {
  const std::int64_t step = ticks_.steps_done();
  if (!remembered_steps_.contains(step)) {
    return {};
  }
  remembered_steps_.erase(remembered_steps_.begin(), remembered_steps_.upper_bound(step));
  if (!troubles_.remembers()) {
    return {};
  }
  watch_memory_.keep(step, troubles_.seen());
  return {KeepWatch{watch_memory_.text()}};
}

Effects Conductor::balance(TimePoint now, double unix_seconds) {
  const auto left = until_end();
  if (leave_signal_ || settings_.pause || !left) {
    return {};
  }
  BalanceTick tick{.unix_seconds = unix_seconds, .work_seconds = {}};
  for (const auto& [rank, means] : ticks_.last_means()) {
    tick.work_seconds.push_back(means.work_seconds);
  }
  const auto advice = balancer_.look(tick, left->count());
  if (!advice) {
    return {};
  }
  const std::string why = fmt::format("rank {} is {:.1f} times as slow as the others",
                                      advice->slowest + 1, advice->slowness);
  if (advice->shares.empty()) {
    return {Say{fmt::format(
        "note   {}: with training.microbatches of at least 2 per worker its work could go to the "
        "others",
        why)}};
  }
  const std::string shares = fmt::format("[{}]", fmt::join(advice->shares, ", "));
  if (!settings_.is_supervised) {
    return {Say{fmt::format("note   {}: with layout.shares={} a step takes 1/{:.1f} of its time",
                            why, shares, advice->gain)}};
  }
  const std::int64_t step = leases_.granted_end();
  SteeringEvent event{.unix_seconds = unix_seconds,
                      .step = step,
                      .start = settings_.welcome.incarnation,
                      .command = std::string(kBalance),
                      .who = "gangway",
                      .arguments = {{"shares", shares}},
                      .answer = fmt::format("saves step {}, and goes on with layout.shares {}: {}",
                                            step, shares, why)};
  Effects effects{Say{fmt::format("balance  {}", event.answer)}, RecordSteering{std::move(event)}};
  Effects grants = leave_for({.workers = settings_.num_workers, .shares = advice->shares}, now);
  std::ranges::move(grants, std::back_inserter(effects));
  return effects;
}

Effects Conductor::look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now) {
  const bool is_news = ticks_.steps_done() > looked_at_;
  Effects effects = troubles_of(tick, now);
  if (is_news && !ended_ && !end_when_recorded_ && !held_back_) {
    std::ranges::move(keep_watch(), std::back_inserter(effects));
  }
  return effects;
}

Effects Conductor::troubles_of(const std::optional<report::Tick>& tick, TimePoint now) {
  if (ticks_.steps_done() > looked_at_) {
    looked_at_ = ticks_.steps_done();
    const auto by_loss = troubles_.step(looked_at_, ticks_.last_losses());
    const auto by_figures = troubles_.step_figures(looked_at_, ticks_.last_figures());
    if (by_loss || by_figures) {
      return hold_back(by_loss ? *by_loss : *by_figures, /*rank=*/0, now);  // 0: no particular rank
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
  return settings_.divergence.saturation_is_trouble ? hold_back(*saturation, /*rank=*/0, now)
                                                    : Effects{Say{"warn  " + saturation->what}};
}

Effects Conductor::hold_back(Trouble trouble, int rank, TimePoint now) {
  if (!held_back_ || trouble.step < held_back_->trouble.step) {
    const TimePoint since = held_back_ ? held_back_->since : now;
    held_back_ = {.trouble = std::move(trouble), .rank = rank, .since = since};
  }
  return answer_when_due(now);
}

bool Conductor::saves_before(std::int64_t step) const {
  return ledger_.is_open_before(step) &&
         std::ranges::none_of(membership_.members(), [&](const Member& member) {
           return member.state == WorkerState::kLeft && ledger_.owes(member.rank - 1, step);
         });
}

Effects Conductor::answer_when_due(TimePoint now) {
  if (ended_ || end_when_recorded_ || !held_back_) {
    return {};
  }
  const auto waited = now - held_back_->since;
  const bool is_told =
      ticks_.steps_done() + 1 >= held_back_->trouble.step || waited >= kTellingPatience;
  // saves_before() comes last because it scans all workers.
  if (!is_told || (waited < kHealthySavePatience && saves_before(held_back_->trouble.step))) {
    return {};
  }
  const HeldBack one = *std::exchange(held_back_, std::nullopt);
  return answer(one.trouble, one.rank);
}

Effects Conductor::answer(const Trouble& trouble, int rank) {
  const DivergenceSpec& spec = settings_.divergence;
  auto decision = rollback_of(spec, settings_.decisions, trouble, settings_.welcome.incarnation);
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
  add_rollback(settings_.decisions, std::move(*decision));
  return record();
}

Effects Conductor::scored(const ScoreFound& score) {
  // A leave's signal may also have killed the scorer; the checkpoint itself may be fine.
  if (ended_ || end_when_recorded_ || (leave_signal_ && !score.value)) {
    return {};
  }
  Decisions news = scores_.found(settings_.decisions, score, settings_.welcome.incarnation);
  if (news.empty()) {
    return {};
  }
  std::ranges::move(news, std::back_inserter(settings_.decisions));
  return record();
}

Effects Conductor::record() {
  num_records_ += 1;
  return {RecordDecisions{settings_.decisions}};
}

Effects Conductor::recorded(TimePoint now) {
  // Records are written in order, and each holds all decisions.
  num_records_ -= 1;
  if (ended_ || num_records_ > 0) {
    return {};
  }
  if (end_when_recorded_) {
    return end_with(std::move(*end_when_recorded_));
  }
  Effects effects;
  for (; num_recorded_ < settings_.decisions.size(); ++num_recorded_) {
    const Decision& decision = settings_.decisions[num_recorded_];
    if (decision.kind == DecisionKind::kPlateau) {
      untold_.push_back(decision.change);
      effects.emplace_back(
          Say{fmt::format("note   from step {} on, learning rates times {}: {}",
                          decision.change.step, decision.change.lr_factor, decision.why)});
    } else if (decision.kind == DecisionKind::kEarlyStop) {
      settings_.leases.total_steps = decision.change.step;
      leases_.end_at(decision.change.step);
      effects.emplace_back(
          Say{fmt::format("note   ends at step {}: {}", decision.change.step, decision.why)});
    }
  }
  if (const auto step = scores_.unscored(settings_.decisions, begin_step_)) {
    effects.emplace_back(ScoreCheckpoint{*step});
  }
  leases_.hold_at(scores_.gate(settings_.decisions, begin_step_));
  Effects granted = grant(now);
  std::ranges::move(granted, std::back_inserter(effects));
  return effects;
}

std::string Conductor::early_end() const {
  for (const Decision& decision : settings_.decisions) {
    if (decision.kind == DecisionKind::kEarlyStop) {
      return fmt::format("stopped early at step {}: {}", decision.change.step, decision.why);
    }
  }
  return "done";
}

Effects Conductor::unrecorded(const std::string& reason) {
  return ended_ ? Effects{} : end(ExitCode::kEnvironment, 0, reason);
}

Effects Conductor::look_at_memory(int rank, const messages::MemoryFigures& memory) {
  if (first_memory_.is_over()) {
    return {};
  }
  const JobSpec& job = settings_.job;
  first_memory_.tell(rank, {.host = membership_.member(rank).host,
                            .figures = memory,
                            .computes_on_gpu = job.numerics.device == DeviceKind::kCuda});
  const std::int64_t steps = ticks_.steps_done() - begin_step_;
  std::string line =
      first_memory_.look(steps, [&] { return next_exact_rung(job, settings_.welcome.layout); });
  return line.empty() ? Effects() : Effects{Say{std::move(line)}};
}

}  // namespace gangway::coordinator
