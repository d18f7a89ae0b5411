// SPDX-License-Identifier: MIT
#include "coordinator/core/run_core.hpp"

#include <utility>

#include <fmt/format.h>

#include "coordinator/trouble/rollback.hpp"

namespace gangway::coordinator {

RunCore::RunCore(RunCoreSettings settings, TimePoint start)
    : settings_(settings),
      generation_(settings, start),
      saves_(settings_.save_interval),
      scores_(settings_.scores),
      balancer_(settings_.balance),
      troubles_(settings_.divergence, settings_.watched),
      watch_history_(settings_.watch_history) {
  records_.num_done = settings_.decisions.size();
}

Effects RunCore::on_message(Rank rank, const messages::Envelope& envelope, TimePoint now,
                            double unix_seconds) {
  if (is_over() || !generation_.membership().has(rank)) {
    return {};
  }
  const Arrival arrival{rank, envelope.epoch, now, unix_seconds};
  try {
    return std::visit([&](const auto& message) { return take(message, arrival); },
                      envelope.message);
  } catch (const DivergedError& error) {
    return hold_back({.step = error.step(), .what = error.what()},
                     generation_.ticks().diverged_rank(), now);
  } catch (const Error& error) {
    return end({error.code(), rank, error.what()});
  }
}

Effects RunCore::settle(Generation::Reply reply) {
  return reply.fault ? end(*std::move(reply.fault)) : std::move(reply.effects);
}

Effects RunCore::take(const messages::Picture& picture, const Arrival& arrival) {
  generation_.watch().note_activity(arrival.now);
  constexpr std::size_t kListed = 200;  // the page copies the list each second
  if (pictures_.size() == kListed) {
    pictures_.erase(pictures_.begin());
  }
  pictures_.push_back(picture.file);
  return {ShowPicture{picture}};
}

Effects RunCore::refuse(std::string_view name, const Arrival& arrival) {
  return end({ExitCode::kInternal, arrival.rank,
              fmt::format("{} sent a message of kind {}, which only the coordinator sends",
                          membership().describe(arrival.rank), name)});
}

Effects RunCore::begin_with(const ResumePoint& point) {
  looked_at_ = point.step;
  Effects effects = generation_.begin_with(point);
  generation_.leases().hold_at(scores_.gate(settings_.decisions, point.step));
  if (settings_.pause) {
    generation_.leases().pause();
  }
  recall_at(point.step);
  return effects;
}

Effects RunCore::take(const messages::Ready& ready, const Arrival& arrival) {
  if (auto fault = generation_.take(arrival.rank, ready)) {
    return end(*std::move(fault));
  }
  return begin_if_ready(arrival.now);
}

Effects RunCore::begin_if_ready(TimePoint now) {
  auto begun = generation_.begin_if_ready(now);
  if (!begun || begun->fault) {
    return begun ? settle(*std::move(begun)) : Effects{};
  }
  saves_.granted(now);
  Effects effects = std::move(begun->effects);
  if (const auto step = scores_.unscored(settings_.decisions, generation_.begin_step())) {
    effects.emplace_back(ScoreCheckpoint{*step});
  }
  if (settings_.pause) {
    effects.emplace_back(Say{fmt::format("note  paused, as {} asked: gangway resume {} goes on",
                                         settings_.pause->by, welcome().run_directory)});
  }
  append(effects, grant(now));
  return effects;
}

Effects RunCore::take(const messages::Progress& progress, const Arrival& arrival) {
  if (arrival.epoch != membership().epoch()) {
    return {};
  }
  generation_.watch().stepped(arrival.rank, progress.step, arrival.now);
  if (held_back_ && progress.step >= held_back_->trouble.step) {
    return decide_now(arrival.now);  // steps after trouble are void
  }
  auto tick = generation_.ticks().add(arrival.rank, progress, arrival.now, arrival.unix_seconds);
  Effects troubles = look_for_trouble(tick, arrival.now);
  Effects effects = generation_.look_at_memory(arrival.rank, progress.memory);
  const bool is_tick = tick.has_value();
  if (is_tick) {
    generation_.first_tick_is_there();
    last_tick_ = *tick;
    effects.emplace_back(ShowTick{*std::move(tick)});
  }
  append(effects, std::move(troubles));
  append(effects, decide_now(arrival.now));
  if (is_over()) {
    return effects;
  }
  append(effects, generation_.use(arrival.rank, progress, arrival.now));
  if (is_tick) {
    append(effects, balance(arrival.now, arrival.unix_seconds));
  }
  append(effects, grant(arrival.now));
  return effects;
}

Effects RunCore::grant(TimePoint now) {
  Effects effects;
  if (held_back_ || records_.end) {
    return effects;
  }
  for (GrantLease& granted : generation_.grant(now)) {
    messages::Lease& lease = granted.lease;
    lease.changes = std::exchange(records_.unsent, {});
    lease.trace = std::exchange(unsent_trace_, {});
    remembered_steps_.insert(lease.snapshots.begin(), lease.snapshots.end());
    if (granted.checkpoint_step) {
      remembered_steps_.insert(*granted.checkpoint_step);
      saves_.granted(now);
    }
    effects.emplace_back(std::move(granted));
  }
  return effects;
}

Effects RunCore::take(const messages::CheckpointPart& part, const Arrival& arrival) {
  if (part.under_way) {
    generation_.watch().wrote(arrival.rank, arrival.now);
    return {};
  }
  generation_.watch().note_activity(arrival.now);
  if (held_back_ && part.step >= held_back_->trouble.step) {
    return {};  // void: a slower disk or another layout would deliver it too late
  }
  auto complete = generation_.ledger().add(worker_of(arrival.rank), arrival.epoch, part);
  if (!complete) {
    return {};
  }
  if (!complete->error.empty()) {
    return checkpoint_failed(complete->step, complete->error, arrival.now);
  }
  return {CommitCheckpoint{*std::move(complete)}};
}

Effects RunCore::checkpoint_committed(std::int64_t step, TimePoint now) {
  generation_.committed(step, now);
  Effects effects = pin_at(step);
  append(effects, decide_now(now));
  return effects;
}

Effects RunCore::checkpoint_failed(std::int64_t step, const std::string& reason, TimePoint now) {
  Effects effects = generation_.save_failed(step, reason);
  saves_.failed(generation_.ledger().failures_in_a_row(), now);
  append(effects, scored({.step = step, .value = {}}));  // training must not wait for its score
  append(effects, decide_now(now));
  return effects;
}

Effects RunCore::take(const messages::Goodbye& /*goodbye*/, const Arrival& arrival) {
  generation_.membership().leave(arrival.rank);
  if (!generation_.leases().last_granted()) {
    return end({ExitCode::kInternal, arrival.rank,
                fmt::format("{} left before its last lease", membership().describe(arrival.rank))});
  }
  return decide_now(arrival.now);
}

Effects RunCore::on_lifeline_opened(Rank rank, TimePoint now) {
  if (ended_ || !generation_.membership().has(rank)) {
    return {};
  }
  generation_.membership().lifeline_opened(rank, now);
  return begin_if_ready(now);
}

Effects RunCore::on_clock(TimePoint now) {
  if (ended_) {
    return {};
  }
  generation_.forgive_own_stall(now);
  if (records_.end) {  // workers leave for the same trouble
    return {};
  }
  if (held_back_) {  // workers may complain about the peer that left
    return decide_now(now);
  }
  if (auto fault = generation_.find_fault(now)) {
    if (fault->rank != Rank()) {
      generation_.membership().lose(fault->rank);
    }
    return end(*std::move(fault));
  }
  Effects effects = generation_.look_after(now);
  if (saves_.is_due(now, generation_.until_end())) {
    generation_.leases().request_checkpoint();
    append(effects, grant(now));
  }
  return effects;
}

View RunCore::view() const {
  View view = generation_.view(held_back_ ? std::optional(held_back_->trouble.step) : std::nullopt);
  view.trouble = held_back_;
  view.leave = leave_;
  view.is_supervised = settings_.is_supervised;
  view.start = welcome().incarnation;
  view.job_steps = settings_.scores.total_steps;
  view.go_on = settings_.go_on;
  view.divergence = settings_.divergence;
  view.decisions = settings_.decisions;
  return view;
}

Effects RunCore::decide_now(TimePoint now) {
  const bool may_end = held_back_ || membership().all_left() || !generation_.has_begun();
  return may_end && !is_over() ? execute(decide(view(), now)) : Effects{};
}

Effects RunCore::end(Fault fault) {
  View facts = view();
  facts.fault = std::move(fault);
  return execute(decide(facts, /*now=*/{}));
}

Effects RunCore::execute(Verdict verdict) {
  switch (verdict.act) {
    case Verdict::Act::kGoOn:
      return {};
    case Verdict::Act::kRollBack:
      held_back_.reset();
      add_rollback(settings_.decisions, *std::move(verdict.rollback));
      records_.end = std::move(verdict.end);
      return record();
    case Verdict::Act::kEnd:
      return end_with(std::move(verdict.end));
  }
  return {};
}

Effects RunCore::end_with(RunEnd run_end) {
  Effects effects;
  ended_ = true;
  if (!run_end.is_orderly) {
    if (!run_end.is(ExitCode::kDiverged)) {
      run_end.unsaved_snapshot = generation_.unsaved_snapshot();
    }
    const bool starts_again = welcome().goes_on && run_end.is(ExitCode::kWorkerLost);
    run_end.keeps =
        generation_.settings().copied_by_rank_0 && run_end.unsaved_snapshot && !starts_again;
    SendMessage stop{.message = messages::Stop{.exit_code = run_end.exit_code,
                                               .reason = run_end.reason,
                                               .keep = run_end.keeps}};
    for (const Member& member : membership().members()) {
      if (member.state != WorkerState::kLost && member.state != WorkerState::kLeft) {
        stop.ranks.push_back(member.rank);
      }
    }
    effects.emplace_back(std::move(stop));
  }
  effects.emplace_back(EndJob{std::move(run_end)});
  return effects;
}

}  // namespace gangway::coordinator
