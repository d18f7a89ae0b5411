// SPDX-License-Identifier: MIT
#include "coordinator/core/run_core.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/steering/resize.hpp"
#include "coordinator/steering/settable_keys.hpp"
#include "coordinator/trouble/rollback.hpp"

namespace gangway::coordinator {
namespace {

/// Most steps in a trace, because a worker keeps some 65,000 events.
constexpr std::int64_t kMostTraced = 10'000;

}  // namespace

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

Effects RunCore::on_request(Request request, int signal, TimePoint now) {
  if (ended_) {
    return {};
  }
  if (request == Request::kEndNow) {
    return end_with({.exit_code = 128 + signal,
                     .reason = "ended at once on request, without a save",
                     .step = generation_.ticks().steps_done()});
  }
  if (request == Request::kSaveAndGoOn) {
    generation_.leases().request_checkpoint();
    return grant(now);
  }
  if (leave_) {
    leave_->resize.reset();  // a request to leave overrides the resize's restart
    return {};
  }
  leave_ = {.signal = signal};
  if (!generation_.has_begun()) {
    return decide_now(now);
  }
  generation_.leases().request_stop();
  Effects effects{
      Say{"note  stopping on request: ends the steps that are under way (about a second of them), "
          "saves, and leaves"}};
  append(effects, grant(now));
  return effects;
}

Commanded RunCore::on_command(const Command& command, TimePoint now, double unix_seconds) {
  if (is_over()) {
    return {.answer = {Refusal::kNotNow, "the job has ended", generation_.ticks().steps_done()},
            .effects = {}};
  }
  Commanded commanded;
  const Asked asked{command.who, now, unix_seconds, generation_.leases().granted_end(),
                    commanded.effects};
  CommandAnswer& answer = commanded.answer;
  try {
    answer = std::visit([&](const auto& order) { return obey(order, asked); }, command.order);
  } catch (const ConfigError& error) {
    answer = {Refusal::kInvalid, error.what(), asked.step};
  }
  if (answer.refusal != Refusal::kNone) {
    return commanded;
  }
  SteeringEvent event = event_of(command.order);
  event.unix_seconds = unix_seconds;
  event.step = answer.step;
  event.start = welcome().incarnation;
  event.who = command.who;
  event.answer = answer.text;
  if (const auto* set = std::get_if<SetKey>(&command.order)) {
    event.arguments["job"] = value_of(job(), set->key);
  }
  Effects first{Say{fmt::format("steer  {} by {}: {}", event.command, event.who, event.answer)},
                RecordSteering{std::move(event)}};
  commanded.effects.insert(commanded.effects.begin(), first.begin(), first.end());
  return commanded;
}

CommandAnswer RunCore::obey(const PauseJob& /*order*/, const Asked& asked) {
  if (leave_) {
    return {Refusal::kNotNow, "it is stopping", asked.step};
  }
  if (settings_.pause) {
    return {Refusal::kNone, fmt::format("is paused already, as {} asked", settings_.pause->by),
            asked.step};
  }
  settings_.pause = {.unix_seconds = asked.unix_seconds, .by = asked.who};
  generation_.leases().pause();
  return {Refusal::kNone, fmt::format("pauses after step {}", asked.step), asked.step};
}

CommandAnswer RunCore::obey(const ResumeJob& /*order*/, const Asked& asked) {
  if (!settings_.pause) {
    return {Refusal::kNone, "is not paused", asked.step};
  }
  if (generation_.has_begun() && generation_.ticks().steps_done() >= asked.step) {
    generation_.ticks().forgive(asked.now - generation_.ticks().step_ended());
  }
  settings_.pause.reset();
  generation_.leases().resume();
  append(asked.effects, grant(asked.now));
  return {Refusal::kNone, fmt::format("goes on after step {}", asked.step), asked.step};
}

CommandAnswer RunCore::obey(const SaveCheckpoint& order, const Asked& asked) {
  if (!generation_.has_begun() || asked.step == 0) {  // step 0 is never saved
    return {Refusal::kNotNow, "it has not begun to train: try again",
            generation_.ticks().steps_done()};
  }
  generation_.leases().request_checkpoint();
  append(asked.effects, grant(asked.now));
  const std::int64_t step = generation_.leases().saved_step();
  const std::int64_t saved = generation_.saved_step();
  if (order.pin) {
    pins_.insert(step);
    if (step == saved) {
      append(asked.effects, pin_at(step));
    }
  }
  return {Refusal::kNone,
          fmt::format("{} step {}{}", step == saved ? "has saved" : "saves", step,
                      order.pin ? ", which is pinned" : ""),
          step};
}

Effects RunCore::pin_at(std::int64_t step) {
  if (pins_.erase(step) == 0) {
    // If the checkpoint to be pinned could not be saved, pin this one instead.
    const auto later = pins_.upper_bound(step);
    if (later == pins_.begin()) {
      return {};
    }
    pins_.erase(pins_.begin(), later);
  }
  return {PinCheckpoint{step}};
}

CommandAnswer RunCore::obey(const SetKey& order, const Asked& asked) {
  const std::string before = value_of(settings_.steered_job, order.key);
  settings_.steered_job = with_key(settings_.steered_job, order.key, order.value);
  const SteeredPlan plan = steered_plan(settings_.steered_job);
  generation_.set_plan(plan);
  saves_.set_interval(plan.save_interval);
  asked.effects.emplace_back(KeepCheckpoints{settings_.steered_job.checkpoint});
  const std::string after = value_of(settings_.steered_job, order.key);
  return {Refusal::kNone, fmt::format("{} is {}, was {}", order.key, after, before), asked.step};
}

CommandAnswer RunCore::obey(const TraceJob& order, const Asked& asked) {
  const std::int64_t granted = asked.step;
  const TraceSteps steps = order.begin > 0 ? TraceSteps{order.begin, order.end, order.detail}
                                           : TraceSteps{granted, granted + order.end, order.detail};
  if (order.end <= 0 || steps.empty() || steps.end - steps.begin > kMostTraced) {
    return {Refusal::kInvalid,
            fmt::format("steps {}:{} cannot be traced: the first comes before the one after the "
                        "last, at most {} steps earlier",
                        order.begin, order.end, kMostTraced),
            granted};
  }
  if (order.detail.kernels && job().numerics.device == DeviceKind::kCpu) {
    return {Refusal::kInvalid, "it computes on CPUs: there are no GPUs' kernels to trace", granted};
  }
  if (!generation_.has_begun() || leave_) {
    return {Refusal::kNotNow, "it is not training", granted};
  }
  const std::int64_t done = generation_.ticks().steps_done();
  if (const auto end = std::max(trace_.end, welcome().trace.end); end > done) {
    return {Refusal::kNotNow,
            fmt::format("steps are to be traced already, until {}: try again after them", end),
            granted};
  }
  if (steps.begin < granted || steps.end > generation_.settings().leases.total_steps) {
    return {Refusal::kNotNow,
            fmt::format("steps {}:{} cannot be traced: those from {} to {} can", steps.begin,
                        steps.end, granted, generation_.settings().leases.total_steps),
            granted};
  }
  trace_ = unsent_trace_ = steps;
  asked.effects.emplace_back(BeginTrace{steps});
  return {Refusal::kNone, fmt::format("traces steps {}:{}", steps.begin, steps.end), steps.begin};
}

Effects RunCore::leave_for(Resize resize, TimePoint now) {
  leave_ = {.signal = SIGTERM, .resize = std::move(resize)};
  generation_.leases().request_stop();
  return grant(now);
}

CommandAnswer RunCore::obey(const DrainWorkers& order, const Asked& asked) {
  const bool is_draining = leave_ && leave_->resize && !leave_->resize->drained.empty();
  if (std::string why = why_not_resized(view()); !why.empty() && !is_draining) {
    return {Refusal::kNotNow, std::move(why), asked.step};
  }
  std::vector<DrainableWorker> workers;
  for (const Member& member : membership().members()) {
    workers.push_back({.rank = member.rank, .host = member.host});
  }
  Resize resize{.drained = ranks_named(order.name, workers)};
  if (is_draining) {
    resize.drained.insert(leave_->resize->drained.begin(), leave_->resize->drained.end());
  }
  resize.workers = generation_.settings().num_workers - static_cast<int>(resize.drained.size());
  try {
    require_layout_with(resize.workers, job());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("'{}' cannot be drained: {}", order.name, error.what()));
  }
  const std::string text =
      fmt::format("saves step {}, and goes on with {} worker{}, without rank {}", asked.step,
                  resize.workers, resize.workers == 1 ? "" : "s", fmt::join(resize.drained, ", "));
  append(asked.effects, leave_for(std::move(resize), asked.now));
  return {Refusal::kNone, text, asked.step};
}

CommandAnswer RunCore::obey(const ResizeJob& order, const Asked& asked) {
  if (std::string why = why_not_resized(view()); !why.empty()) {
    return {Refusal::kNotNow, std::move(why), asked.step};
  }
  try {
    require_layout_with(order.workers, job());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("it stays as it is: {}", error.what()));
  }
  if (order.workers == generation_.settings().num_workers) {
    return {Refusal::kNone, fmt::format("has {} workers already", order.workers), asked.step};
  }
  append(asked.effects, leave_for({.workers = order.workers}, asked.now));
  return {Refusal::kNone,
          fmt::format("saves step {}, and goes on with {} worker{}", asked.step, order.workers,
                      order.workers == 1 ? "" : "s"),
          asked.step};
}

CommandAnswer RunCore::obey(const StopJob& /*order*/, const Asked& asked) {
  if (leave_ && !leave_->resize) {
    return {Refusal::kNone, "is stopping already", asked.step};
  }
  append(asked.effects, on_request(Request::kSaveAndLeave, SIGTERM, asked.now));
  return {Refusal::kNone,
          generation_.has_begun() ? fmt::format("saves step {}, and leaves", asked.step)
                                  : "leaves before its first step",
          asked.step};
}

JobPhase RunCore::phase() const {
  if (ended_) {
    return JobPhase::kEnded;
  }
  if (leave_) {
    return JobPhase::kStopping;
  }
  if (generation_.has_begun() && settings_.pause) {
    return generation_.watch().slowest_done() < generation_.leases().granted_end()
               ? JobPhase::kPausing
               : JobPhase::kPaused;
  }
  return generation_.has_begun() ? JobPhase::kTraining : JobPhase::kStarting;
}

JobStatus RunCore::status(TimePoint now, double unix_seconds) const {
  JobStatus status{.phase = phase(),
                   .unix_seconds = unix_seconds,
                   .tick = last_tick_,
                   .pause = settings_.pause,
                   .pictures = pictures_};
  if (status.tick) {
    status.tick->histograms.clear();
  }
  generation_.describe(status, now);
  return status;
}

Effects RunCore::take(const messages::Stop& stop, const Arrival& arrival) {
  const Rank rank = arrival.rank;
  const auto code = static_cast<ExitCode>(stop.exit_code);
  if (code == ExitCode::kDiverged) {
    const std::int64_t step = stop.step > 0 ? stop.step : generation_.ticks().steps_done() + 1;
    generation_.membership().leave(rank);  // it leaves by itself: not a loss
    return hold_back(
        {.step = step, .what = fmt::format("{}: {}", membership().describe(rank), stop.reason)},
        rank, arrival.now);
  }
  if (code != ExitCode::kWorkerLost) {
    return end({code, rank, fmt::format("{}: {}", membership().describe(rank), stop.reason)});
  }
  // A complaint about a silent peer may arrive before the news of that peer's death, which is the
  // root cause.
  generation_.membership().leave(rank);
  generation_.complain(rank, stop, arrival.now);
  return {};
}

void RunCore::recall_at(std::int64_t step) {
  watch_history_.begin_at(step);
  if (const auto seen = watch_history_.at(step)) {
    troubles_.go_on_from(*seen);
  }
}

Effects RunCore::keep_watch() {
  const std::int64_t step = generation_.ticks().steps_done();
  if (!remembered_steps_.contains(step)) {
    return {};
  }
  remembered_steps_.erase(remembered_steps_.begin(), remembered_steps_.upper_bound(step));
  if (!troubles_.remembers()) {
    return {};
  }
  watch_history_.keep(step, troubles_.seen());
  return {KeepWatch{watch_history_.text()}};
}

Effects RunCore::balance(TimePoint now, double unix_seconds) {
  const auto left = generation_.until_end();
  if (leave_ || settings_.pause || !left) {
    return {};
  }
  BalanceTick tick{.unix_seconds = unix_seconds, .work_seconds = {}};
  for (const auto& [rank, means] : generation_.ticks().last_means()) {
    tick.work_seconds.push_back(means.work_seconds);
  }
  const auto advice = balancer_.look(tick, left->count());
  if (!advice) {
    return {};
  }
  const std::string why = fmt::format("rank {} is {:.1f} times as slow as the others",
                                      rank_of(advice->slowest), advice->slowness);
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
  const std::int64_t step = generation_.leases().granted_end();
  SteeringEvent event{.unix_seconds = unix_seconds,
                      .step = step,
                      .start = welcome().incarnation,
                      .command = std::string(kBalance),
                      .who = "gangway",
                      .arguments = {{"shares", shares}},
                      .answer = fmt::format("saves step {}, and goes on with layout.shares {}: {}",
                                            step, shares, why)};
  Effects effects{Say{fmt::format("balance  {}", event.answer)}, RecordSteering{std::move(event)}};
  append(effects,
         leave_for({.workers = generation_.settings().num_workers, .shares = advice->shares}, now));
  return effects;
}

Effects RunCore::look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now) {
  const bool is_news = generation_.ticks().steps_done() > looked_at_;
  Effects effects = troubles_of(tick, now);
  if (is_news && !is_over() && !held_back_) {
    append(effects, keep_watch());
  }
  return effects;
}

Effects RunCore::troubles_of(const std::optional<report::Tick>& tick, TimePoint now) {
  if (generation_.ticks().steps_done() > looked_at_) {
    looked_at_ = generation_.ticks().steps_done();
    const auto by_loss = troubles_.step(looked_at_, generation_.ticks().last_losses());
    const auto by_figures = troubles_.step_figures(looked_at_, generation_.ticks().last_figures());
    if (by_loss || by_figures) {
      return hold_back(by_loss ? *by_loss : *by_figures, /*rank=*/{}, now);
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
  return settings_.divergence.saturation_is_trouble ? hold_back(*saturation, /*rank=*/{}, now)
                                                    : Effects{Say{"warn  " + saturation->what}};
}

Effects RunCore::hold_back(Trouble trouble, Rank rank, TimePoint now) {
  if (!held_back_ || trouble.step < held_back_->trouble.step) {
    const TimePoint since = held_back_ ? held_back_->since : now;
    held_back_ = {.trouble = std::move(trouble), .rank = rank, .since = since};
  }
  return decide_now(now);
}

Effects RunCore::scored(const ScoreFound& score) {
  // A leave's signal may also have killed the scorer; the checkpoint itself may be fine.
  if (is_over() || (leave_ && !score.value)) {
    return {};
  }
  Decisions news = scores_.found(settings_.decisions, score, welcome().incarnation);
  if (news.empty()) {
    return {};
  }
  std::ranges::move(news, std::back_inserter(settings_.decisions));
  return record();
}

Effects RunCore::record() {
  records_.num_under_way += 1;
  return {RecordDecisions{settings_.decisions}};
}

Effects RunCore::recorded(TimePoint now) {
  // Records are written in order, and each holds all decisions.
  records_.num_under_way -= 1;
  if (ended_ || records_.num_under_way > 0) {
    return {};
  }
  if (records_.end) {
    return end_with(*std::move(records_.end));
  }
  Effects effects;
  for (; records_.num_done < settings_.decisions.size(); ++records_.num_done) {
    const Decision& decision = settings_.decisions[records_.num_done];
    if (decision.kind == DecisionKind::kPlateau) {
      records_.unsent.push_back(decision.change);
      effects.emplace_back(
          Say{fmt::format("note   from step {} on, learning rates times {}: {}",
                          decision.change.step, decision.change.lr_factor, decision.why)});
    } else if (decision.kind == DecisionKind::kEarlyStop) {
      generation_.end_at(decision.change.step);
      effects.emplace_back(
          Say{fmt::format("note   ends at step {}: {}", decision.change.step, decision.why)});
    }
  }
  if (const auto step = scores_.unscored(settings_.decisions, generation_.begin_step())) {
    effects.emplace_back(ScoreCheckpoint{*step});
  }
  generation_.leases().hold_at(scores_.gate(settings_.decisions, generation_.begin_step()));
  append(effects, grant(now));
  return effects;
}

Effects RunCore::unrecorded(const std::string& reason) {
  return ended_ ? Effects{} : end({ExitCode::kEnvironment, Rank(), reason});
}

}  // namespace gangway::coordinator
