// SPDX-License-Identifier: MIT
#include "coordinator/core/generation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "coordinator/resume/equal_arithmetic.hpp"
#include "coordinator/resume/equal_data.hpp"
#include "job/estimate/memory_ladder.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {
namespace {

std::string skip_line(const messages::SkippedUpdate& skip,
                      const std::vector<std::string>& networks) {
  const std::string line =
      fmt::format("note  step {}: an update of the {} was skipped, its gradient was not finite",
                  skip.step, networks.at(static_cast<std::size_t>(skip.network)));
  return skip.loss_scale == 1.0
             ? line
             : fmt::format("{}; its loss scale is {:g} now", line, skip.loss_scale);
}

// The clock ticks every few milliseconds. During a longer gap (a slow disk, a stopped process) the
// coordinator reads nothing: the workers' silence does not count.
constexpr std::chrono::milliseconds kOwnStall{1000};
// Longest silence on the terminal before the first tick.
constexpr std::chrono::seconds kTellOfStart{10};

// By WorkerState.
constexpr std::array kStateTexts{"expected", "joined", "ready", "left", "lost"};

}  // namespace

Generation::Generation(GenerationSettings settings, TimePoint start)
    : settings_(std::move(settings)),
      membership_(settings_.num_workers, start, settings_.limits, settings_.build),
      resume_protocol_(settings_.num_workers),
      leases_(settings_.leases),
      ledger_(settings_.num_workers),
      snapshots_(settings_.num_workers, 0, settings_.snapshots),
      ticks_(settings_.ticks),
      watch_(settings_.num_workers, 0, settings_.progress_floor),
      began_at_(start),
      last_clock_(start),
      told_of_start_(start) {}

Generation::Reply Generation::take(Rank rank, const messages::Hello& hello) {
  if (auto fault = membership_.join(rank, hello)) {
    return {.fault = std::move(fault)};
  }
  messages::Welcome welcome = settings_.welcome;
  welcome.epoch = membership_.epoch();
  welcome.copies_snapshots =
      settings_.copied_by_rank_0 && *settings_.copied_by_rank_0 != hello.shared_memory;
  return {.effects = {SendMessage{.ranks = {rank}, .message = std::move(welcome)}}};
}

Effects Generation::take(Rank rank, const messages::Inventory& inventory) {
  return resume_protocol_.add(worker_of(rank), inventory)
             ? Effects{ChooseResumePoint{resume_protocol_.inventory(), /*refused_checkpoint=*/{}}}
             : Effects{};
}

Effects Generation::take(Rank rank, const messages::Loading& loading, TimePoint now) {
  membership_.loads(now);
  const auto line = resume_protocol_.loading(worker_of(rank), loading, now);
  if (!line) {
    return {};
  }
  told_of_start_ = now;
  return {Say{*line}};
}

Effects Generation::take(Rank rank, const messages::Unloadable& unloadable) {
  if (!unloadable.part || unloadable.holder.value() >= settings_.num_workers) {
    return resume_protocol_.refuse(unloadable, {})
               ? Effects{ChooseResumePoint{resume_protocol_.inventory(), unloadable.reason}}
               : Effects{};
  }
  std::vector<WorkerIndex> mates;
  for (const Member& member : membership_.members()) {
    if (member.shared_memory == membership_.member(rank_of(unloadable.holder)).shared_memory) {
      mates.push_back(worker_of(member.rank));
    }
  }
  const bool is_news = resume_protocol_.refuse(unloadable, mates);
  Effects effects{Say{fmt::format("warn  {}: {}; a copy or an older state is used",
                                  membership_.describe(rank), unloadable.reason)}};
  if (is_news) {
    effects.emplace_back(ChooseResumePoint{resume_protocol_.inventory(), {}});
  }
  return effects;
}

std::optional<Fault> Generation::take(Rank rank, const messages::Ready& ready) {
  if (auto fault = membership_.ready(rank, ready)) {
    return fault;
  }
  const messages::Ready& before = ready_.message;
  if (!before.data_fingerprint.empty() && before.data_fingerprint != ready.data_fingerprint) {
    return Fault{ExitCode::kUsage, rank,
                 other_data(membership_.describe(rank), membership_.describe(ready_.rank),
                            first_difference(ready.data, before.data))};
  }
  ready_ = {.message = ready, .rank = rank};
  return std::nullopt;
}

Effects Generation::begin_with(const ResumePoint& point) {
  settings_.leases.start_step = settings_.ticks.start_step = point.step;
  settings_.leases.saved_step = settings_.ticks.checkpoint_step = point.saved_step;
  settings_.ticks.first_index = point.first_tick;
  settings_.ticks.earlier_seconds = point.earlier_seconds;
  point_ = point;
  leases_ = LeaseBook(settings_.leases);
  snapshots_ = SnapshotTracker(settings_.num_workers, point.step, settings_.snapshots);
  ticks_ = TickAccounting(settings_.ticks);
  watch_ = ProgressWatch(settings_.num_workers, point.step, settings_.progress_floor);
  return {SendMessage{.ranks = membership_.ranks(), .message = resume_protocol_.propose(point)}};
}

std::optional<Generation::Reply> Generation::begin_if_ready(TimePoint now) {
  if (has_begun_ || !membership_.all_ready()) {
    return std::nullopt;
  }
  const auto alike =
      compare_arithmetic(membership_.arithmetics(), settings_.job.layout.mixed_processors,
                         settings_.arithmetic_before.value_or(messages::Arithmetic{}));
  if (!alike.refusal.empty()) {
    return Reply{.fault = Fault{ExitCode::kEnvironment, alike.refused_rank, alike.refusal}};
  }
  ready_.message.arithmetic = alike.common;
  has_begun_ = true;
  snapshots_.set_buddies(ready_.message.has_buddies);
  ticks_.start(now);
  Reply reply;
  if (!point_.line.empty()) {
    reply.effects.emplace_back(Say{point_.line});
  }
  reply.effects.emplace_back(ShowPlacement{ready_.message, settings_.welcome.layout, point_.step});
  if (!alike.note.empty()) {
    reply.effects.emplace_back(Say{"note  " + alike.note});
  }
  return reply;
}

std::vector<GrantLease> Generation::grant(TimePoint now) {
  std::vector<GrantLease> grants;
  if (!has_begun_) {
    return grants;
  }
  for (const Lease& lease : leases_.grant(watch_.fastest_done())) {
    grants.push_back(
        {.lease = {.begin = lease.begin,
                   .end = lease.end,
                   .pictures = lease.pictures,
                   .last = lease.last,
                   .snapshots = snapshots_.due(lease.begin, lease.end, lease.checkpoint),
                   .protected_snapshot = snapshots_.complete()},
         .checkpoint_step = lease.checkpoint ? std::optional(lease.end) : std::nullopt});
    watch_.granted(lease.begin, now);
    if (lease.checkpoint) {
      ledger_.begin(lease.end, membership_.epoch());
    }
  }
  return grants;
}

Effects Generation::use(Rank rank, const messages::Progress& progress, TimePoint now) {
  const WorkerIndex worker = worker_of(rank);
  leases_.set_step_seconds(ticks_.median_step_seconds());
  snapshots_.set_step_seconds(ticks_.median_step_seconds(), seconds(now - began_at_));
  snapshots_.taken(worker, progress.snapshot, progress.snapshot_seconds);
  snapshots_.copied(worker, progress.copied_snapshot, progress.tried_snapshot);
  Effects effects;
  if (std::string news = snapshots_.news(); !news.empty()) {
    effects.emplace_back(Say{std::move(news)});
  }
  for (const messages::SkippedUpdate& skip : progress.skips) {
    if (worker == WorkerIndex()) {  // all workers report the same
      effects.emplace_back(Say{skip_line(skip, settings_.ticks.networks)});
    }
  }
  return effects;
}

Effects Generation::look_at_memory(Rank rank, const messages::MemoryFigures& memory) {
  if (early_memory_.is_over()) {
    return {};
  }
  const JobSpec& job = settings_.job;
  early_memory_.tell(rank, {.host = membership_.member(rank).host,
                            .figures = memory,
                            .computes_on_gpu = job.numerics.device == DeviceKind::kCuda});
  std::string line = early_memory_.look(ticks_.steps_done() - point_.step, [&] {
    return next_exact_rung(job, settings_.welcome.layout);
  });
  return line.empty() ? Effects() : Effects{Say{std::move(line)}};
}

void Generation::set_plan(const SteeredPlan& plan) {
  leases_.set_intervals(plan.tick_steps, plan.picture_steps, plan.checkpoint_steps);
  settings_.leases.tick_steps = settings_.ticks.tick_steps = plan.tick_steps;
  settings_.leases.picture_steps = plan.picture_steps;
  settings_.leases.checkpoint_steps = plan.checkpoint_steps;
  settings_.snapshots.every = plan.snapshot_steps;
  ticks_.set_tick_steps(plan.tick_steps);
  snapshots_.set_every(plan.snapshot_steps);
}

void Generation::end_at(std::int64_t step) {
  settings_.leases.total_steps = step;
  leases_.end_at(step);
}

void Generation::committed(std::int64_t step, TimePoint now) {
  ledger_.committed(step);
  committed_at_ = now;
  ticks_.checkpoint_committed(step);
}

Effects Generation::save_failed(std::int64_t step, const std::string& reason) {
  return {DiscardCheckpoint{step}, Say{ledger_.failed(step, reason)}};
}

void Generation::complain(Rank rank, const messages::Stop& stop, TimePoint now) {
  const bool is_known = membership_.has(stop.accused);
  blame_.add({.rank = rank, .accused = is_known ? stop.accused : Rank(), .reason = stop.reason},
             now);
}

bool Generation::saves_before(std::int64_t step) const {
  return ledger_.is_open_before(step) &&
         std::ranges::none_of(membership_.members(), [&](const Member& member) {
           return member.state == WorkerState::kLeft && ledger_.owes(worker_of(member.rank), step);
         });
}

View Generation::view(std::optional<std::int64_t> trouble_step) const {
  View view;
  view.has_begun = has_begun_;
  view.have_all_left = membership_.all_left();
  view.is_saving = !ledger_.idle();
  view.is_committing = ledger_.is_committing();
  view.is_saving_before = trouble_step && saves_before(*trouble_step);
  view.is_restart = settings_.arithmetic_before.has_value();
  view.steps_done = ticks_.steps_done();
  view.end_step = settings_.leases.total_steps;
  view.save_error = ledger_.error();
  return view;
}

std::int64_t Generation::saved_step() const {
  return ledger_.last_committed().value_or(settings_.leases.saved_step);
}

std::optional<std::int64_t> Generation::unsaved_snapshot() const {
  const auto loaded = point_.snapshot ? std::optional(point_.step) : std::nullopt;
  const std::optional<std::int64_t> newest = std::max(snapshots_.complete(), loaded);
  return newest > saved_step() ? newest : std::nullopt;
}

void Generation::forgive_own_stall(TimePoint now) {
  const auto gap = now - last_clock_;
  last_clock_ = now;
  if (gap < kOwnStall) {
    return;
  }
  membership_.forgive(gap, now);
  watch_.forgive(gap, now);
  blame_.forgive(gap, now);
}

std::optional<Fault> Generation::find_fault(TimePoint now) {
  if (auto fault = membership_.check(now)) {
    return fault;
  }
  if (auto fault = blame_.verdict(membership_, now)) {
    return fault;
  }
  if (auto fault = check_progress(now)) {
    return fault;
  }
  return check_last_manifest(now);
}

Effects Generation::look_after(TimePoint now) {
  Effects effects = name_late_workers(now);
  append(effects, comfort_waiting_workers(now));
  append(effects, tell_of_start(now));
  if (auto line = ledger_.overdue(now, watch_.slowest_done(), settings_.save_alarm)) {
    effects.emplace_back(Say{std::move(*line)});
  }
  return effects;
}

Effects Generation::comfort_waiting_workers(TimePoint now) {
  if (!has_begun_ || !leases_.is_held()) {
    held_since_.reset();
    return {};
  }
  held_since_ = held_since_.value_or(now);
  if (now - *held_since_ < kLeaseDeadline / 4) {
    return {};
  }
  held_since_ = now;
  SendMessage patience{.message = messages::Patience{}};
  for (const Member& member : membership_.members()) {
    if (member.state == WorkerState::kReady) {
      patience.ranks.push_back(member.rank);
    }
  }
  return {std::move(patience)};
}

Effects Generation::tell_of_start(TimePoint now) {
  const bool is_held = has_begun_ && leases_.is_held();  // paused, or waits for a score
  if (is_held || !ticks_.last_means().empty() || now - told_of_start_ < kTellOfStart) {
    return {};
  }
  told_of_start_ = now;
  std::string what;
  if (const std::int64_t done = ticks_.steps_done(); done > point_.step) {
    const std::int64_t tick_steps = std::max<std::int64_t>(1, settings_.ticks.tick_steps);
    const std::int64_t end =
        std::min((point_.step / tick_steps + 1) * tick_steps, settings_.leases.total_steps);
    what = fmt::format("the first tick: {} of {} steps", done - point_.step, end - point_.step);
  } else {
    const auto& members = membership_.members();
    const JobPhase phase = has_begun_ ? JobPhase::kTraining : JobPhase::kStarting;
    what = fmt::format(
        "{}: {} of {} workers ready", wait_before_first_step(phase, worker_statuses()),
        std::ranges::count(members, WorkerState::kReady, &Member::state), members.size());
  }
  return {Say{fmt::format("wait   for {} after {:.0f} s", what, seconds(now - began_at_))}};
}

std::optional<std::chrono::duration<double>> Generation::until_end() const {
  const double step_seconds = ticks_.median_step_seconds();
  if (step_seconds <= 0.0) {
    return std::nullopt;
  }
  const auto left = static_cast<double>(settings_.leases.total_steps - watch_.slowest_done());
  return std::chrono::duration<double>(left * step_seconds);
}

std::optional<Fault> Generation::check_last_manifest(TimePoint now) {
  if (!membership_.all_left()) {
    return std::nullopt;
  }
  all_left_ = all_left_.value_or(now);
  if (now - *all_left_ < settings_.save_floor) {
    return std::nullopt;
  }
  return Fault{
      ExitCode::kEnvironment, Rank(),
      "the manifest of the last checkpoint does not get onto the disk: look at the disk of "
      "the run directory, then start the same command again"};
}

bool Generation::is_writing_its_last(Rank rank) const {
  return leases_.last_granted() && watch_.done(rank) >= leases_.granted_end() &&
         ledger_.owes(worker_of(rank));
}

std::optional<std::chrono::milliseconds> Generation::time_beyond(Rank rank) const {
  if (membership_.member(rank).state != WorkerState::kReady) {
    return std::nullopt;
  }
  if (leases_.is_held() && watch_.done(rank) >= leases_.granted_end()) {
    return std::nullopt;  // it waits for a score, or is paused
  }
  return is_writing_its_last(rank) ? settings_.save_floor : std::chrono::milliseconds(0);
}

Effects Generation::name_late_workers(TimePoint now) {
  const double usual = ticks_.median_step_seconds();
  const auto late =
      watch_.find(now, watch_.notable(usual), [this](Rank rank) { return time_beyond(rank); });
  if (!late || late->step <= told_late_step_) {
    return {};
  }
  std::vector<std::string> names;
  std::size_t num_ready = 0;
  for (const Member& member : membership_.members()) {
    num_ready += member.state == WorkerState::kReady ? 1 : 0;
    if (member.state == WorkerState::kReady && !waits(member, now)) {
      names.push_back(membership_.describe(member.rank));
    }
  }
  if (names.size() == num_ready) {
    return {};  // all compute, perhaps on busy cores: no worker holds up another
  }
  told_late_step_ = late->step;
  return {Say{fmt::format(
      "note   no step since step {} for {:.1f} s, {:.2f} s is usual: {}", late->step, late->seconds,
      usual,
      names.empty()
          ? "all workers wait for messages of one another; see if their hosts or the network are "
            "busy (top, gangway doctor)"
          : fmt::format("the others wait for {}; see what else uses its cores or disk (top)",
                        fmt::join(names, ", ")))}};
}

std::optional<Fault> Generation::check_progress(TimePoint now) const {
  const auto silence = watch_.find(now, watch_.deadline(ticks_.median_step_seconds()),
                                   [this](Rank rank) { return time_beyond(rank); });
  if (!silence) {
    return std::nullopt;
  }
  if (is_writing_its_last(silence->rank)) {
    return Fault{ExitCode::kEnvironment, silence->rank,
                 fmt::format("{} has brought nothing of the last checkpoint to its disk for {:.0f} "
                             "s: look at the disk, then start the same command again",
                             membership_.describe(silence->rank), silence->seconds)};
  }
  return Fault{
      ExitCode::kWorkerLost, silence->rank,
      fmt::format(
          "{} made no progress for {:.0f} s after step {}: hung, or waiting for another rank",
          membership_.describe(silence->rank), silence->seconds, silence->step)};
}

std::vector<WorkerStatus> Generation::worker_statuses() const {
  const Layout& layout = settings_.welcome.layout;
  const PerNetwork<std::string> networks = settings_.job.network_names();
  const bool is_apart = layout.is_apart();
  std::vector<WorkerStatus> workers;
  for (const Member& member : membership_.members()) {
    WorkerStatus worker{
        .rank = member.rank,
        .host = member.host,
        .device = member.device,
        .pid = member.process.pid,
        .state = kStateTexts.at(static_cast<std::size_t>(member.state)),
        .microbatches = layout.range_of(worker_of(member.rank).value()),
        .networks = is_apart ? layout.held_by(worker_of(member.rank).value(), networks) : "",
        .steps_done = watch_.done(member.rank)};
    const auto means = ticks_.last_means().find(member.rank);
    if (means != ticks_.last_means().end()) {
      worker.work_seconds_per_step = means->second.work_seconds;
      worker.wait_seconds_per_step = means->second.wait_seconds;
      worker.data_seconds_per_step = means->second.data_seconds;
      worker.memory = means->second.memory;
      worker.gauges = means->second.gauges;
      worker.sent_mib_per_step = means->second.sent_bytes / kMebibyte;
    }
    workers.push_back(std::move(worker));
  }
  mark_stragglers(workers);
  return workers;
}

void Generation::describe(JobStatus& status, TimePoint now) const {
  const TickPlan& plan = settings_.ticks;
  const auto kimg_of = [&plan](std::int64_t steps) {
    return static_cast<double>(steps * plan.images_per_step) / 1000.0;
  };
  status.run_directory = settings_.welcome.run_directory;
  status.run_id = settings_.welcome.run_id;
  status.incarnation = settings_.welcome.incarnation;
  status.restarts = settings_.snapshots.losses;
  status.seconds_up = seconds(now - began_at_);
  status.step = ticks_.steps_done();
  status.total_steps = settings_.leases.total_steps;
  status.kimg = kimg_of(status.step);
  status.total_kimg = kimg_of(status.total_steps);
  status.step_seconds = ticks_.median_step_seconds();
  status.workers = worker_statuses();
  status.snapshot_step = snapshots_.complete();
  if (status.step == point_.step) {
    status.waits_for = wait_before_first_step(status.phase, status.workers);
  }
  if (status.tick) {
    status.images_per_second = status.tick->images_per_second;
  } else if (status.step_seconds > 0.0) {
    status.images_per_second = static_cast<double>(plan.images_per_step) / status.step_seconds;
  }
  if (const auto left = until_end(); left && status.phase == JobPhase::kTraining) {
    status.seconds_left = left->count();
  }
  for (std::size_t network = 0; status.step > point_.step && network < plan.networks.size();
       ++network) {
    status.losses.push_back({plan.networks[network], ticks_.last_losses().at(network)});
  }
  if (const std::int64_t saved = saved_step(); saved > 0) {
    status.checkpoint = {
        .step = saved,
        .age_kimg = kimg_of(status.step - saved),
        .age_seconds = committed_at_ ? std::optional(seconds(now - *committed_at_)) : std::nullopt};
  }
}

}  // namespace gangway::coordinator
