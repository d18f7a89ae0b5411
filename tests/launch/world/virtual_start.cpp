// SPDX-License-Identifier: MIT
#include "tests/launch/world/virtual_start.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "coordinator/settings.hpp"
#include "job/layout/layout.hpp"

namespace gangway::launch {
namespace {

using coordinator::Pulse;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kClock{25};
constexpr std::size_t kSlots = 3;

std::string first_host(const HostAllocation& allocation) {
  const bool is_here =
      allocation.hosts.empty() || std::ranges::count(allocation.hosts, kOwnHost, &Host::name) > 0;
  return is_here ? kOwnHost : allocation.hosts.front().name;
}

}  // namespace

VirtualStart::VirtualStart(World& world, const HostAllocation& allocation, bool goes_on,
                           bool is_again)
    : world_(world),
      lineup_(allocation),
      is_restart_(is_again),
      num_workers_(allocation.workers),
      supervision_(allocation.workers + 1, goes_on, world.time_.now(),
                   {.spread = allocation.hosts.empty() ? milliseconds(3'000) : milliseconds(10'000),
                    .silence = kTimeout}),
      step_time_(world.chance_.milliseconds(5, 60)) {
  processes_.push_back({.host = first_host(allocation)});
  const auto hosts = hosts_of_workers(allocation.hosts, allocation.workers,
                                      [](const std::string& name) { return name == kOwnHost; });
  for (int worker = 0; worker < num_workers_; ++worker) {
    processes_.push_back(
        {.host = hosts.empty() ? kOwnHost : hosts[static_cast<std::size_t>(worker)]});
  }
}

void VirtualStart::after(Timeline::Duration delay, std::function<void()> event) {
  world_.time_.after(delay, [self = shared_from_this(), event = std::move(event)] {
    if (!self->is_over_) {
      event();
    }
  });
}

void VirtualStart::act(int rank, Timeline::Duration delay, std::function<void()> deed) {
  after(delay, [this, rank, deed = std::move(deed)]() mutable {
    Process& process = at(rank);
    if (process.health == Health::kStopped) {
      process.pending.push_back(std::move(deed));
    } else if (process.health != Health::kGone) {
      deed();
    }
  });
}

bool VirtualStart::is_here(const Process& process) const { return process.host == kOwnHost; }

std::optional<std::int64_t> VirtualStart::trained() const {
  return core_ ? std::optional(core_->status(world_.time_.now(), kUnixSeconds).step) : std::nullopt;
}

void VirtualStart::begin() {
  for (int rank = 0; rank <= num_workers_; ++rank) {
    act(rank, world_.chance_.milliseconds(200, 800), [this, rank] { come(rank); });
  }
  after(milliseconds(100), [this] { look(/*is_due=*/true); });
  plan_blow();
  reach(Moment::kStart);
}

// ---- processes ----

void VirtualStart::come(int rank) {
  Process& process = at(rank);
  process.has_come = true;
  if (!process.is_cut_off && has_supervisor_) {
    supervision_.watch().greeted(
        {.rank = Rank(rank), .process = {.pid = 100 + rank}, .host = process.host},
        world_.time_.now());
  }
  beat_tether(rank);
  if (std::ranges::all_of(processes_, &Process::has_come)) {
    after(world_.chance_.milliseconds(50, 200), [this] { meet(); });
  }
}

void VirtualStart::beat_tether(int rank) {
  Process& process = at(rank);
  if (rank > 0 && process.has_settled) {
    return;
  }
  if (!process.is_cut_off && has_supervisor_) {
    supervision_.watch().heard(Rank(rank), world_.time_.now());
  }
  act(rank, kHeartbeatPeriod, [this, rank] { beat_tether(rank); });
}

/// MPI_Init returns when all have called it: not to those one of which is dead.
void VirtualStart::meet() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank].health == Health::kStopped) {
      processes_[rank].pending.emplace_back([this] { meet(); });
      return;
    }
    if (!is_well(processes_[rank])) {
      return;
    }
  }
  act(0, world_.chance_.milliseconds(5, 50), [this] { lead(); });
  for (int rank = 1; rank <= num_workers_; ++rank) {
    act(rank, world_.chance_.milliseconds(60, 100), [this, rank] {
      Process& process = at(rank);
      tell(rank, messages::Hello{.rank = Rank(rank),
                                 .host = process.host,
                                 .process = {.pid = 100 + rank},
                                 .shared_memory = std::hash<std::string>()(process.host)});
    });
  }
}

void VirtualStart::lead() {
  coordinator::StartedRun& run = *world_.run_;
  VirtualDisk& disk = world_.disk_;
  incarnation_ = ++disk.start.incarnation;
  disk.start.begun.reset();
  run.start = disk.start;
  run.num_workers = num_workers_;
  run.restarts = disk.restarts;
  run.end_step = kTotalSteps;
  run.resume.reset();
  if (!disk.checkpoints.empty()) {
    const std::int64_t step = *disk.checkpoints.rbegin();
    run.resume = checkpoint::Found{fmt::format("/run/step-{:09}", step), step, {}};
  }
  options_.is_again = is_restart_;
  choice_.emplace(
      run, options_, [](const std::string&) {}, nullptr);
  is_led_ = true;
  at(0).has_settled = true;
  supervision_.watch().settled(Rank(0));
  if (run.is_finished()) {
    carry_out(coordinator::EndJob{
        {.exit_code = 0, .reason = "finished", .step = kTotalSteps, .is_orderly = true}});
    return;
  }
  coordinator::RunCoreSettings settings = coordinator::run_core_settings(run, num_workers_);
  settings.is_supervised = true;
  layout_ = settings.welcome.layout;
  core_.emplace(std::move(settings), world_.time_.now());
  tick();
}

void VirtualStart::tick() {
  if (!end_) {
    const TimePoint now = world_.time_.now();
    carry_out(core_->on_clock(now));
    if (now >= next_status_) {
      next_status_ = now + seconds(1);
      check_status();
    }
  }
  act(0, kClock, [this] { tick(); });
}

void VirtualStart::check_status() {
  const coordinator::JobStatus status = core_->status(world_.time_.now(), kUnixSeconds);
  if (status.step < shown_step_ || status.step > kTotalSteps ||
      status.snapshot_step > kTotalSteps ||
      (status.phase == coordinator::JobPhase::kEnded) != end_.has_value()) {
    world_.problem(fmt::format("status: step {} after {}, {}", status.step, shown_step_,
                               name_of(status.phase)));
  }
  shown_step_ = status.step;
}

void VirtualStart::tell(int rank, messages::Message message) {
  Process& process = at(rank);
  if (process.is_cut_off || at(0).is_cut_off) {
    return;
  }
  const TimePoint now = world_.time_.now();
  process.last_word =
      std::max(process.last_word + microseconds(1), now + world_.chance_.milliseconds(0.05, 3));
  act(0, process.last_word - now, [this, rank, message = std::move(message)] {
    if (core_) {
      carry_out(core_->on_message(Rank(rank), {.epoch = 1, .message = message}, world_.time_.now(),
                                  kUnixSeconds));
    }
  });
}

void VirtualStart::get(int rank, const messages::Message& message) {
  if (std::holds_alternative<messages::Welcome>(message)) {
    act(0, world_.chance_.milliseconds(1, 5), [this, rank] {
      if (at(rank).health != Health::kGone && !at(rank).is_cut_off) {
        at(rank).has_settled = true;
        supervision_.watch().settled(Rank(rank));
        carry_out(core_->on_lifeline_opened(Rank(rank), world_.time_.now()));
      }
    });
    beat_lifeline(rank);
    act(rank, world_.chance_.milliseconds(1, 20), [this, rank] { inventory(rank); });
  } else if (const auto* begin = std::get_if<messages::Begin>(&message)) {
    act(rank, world_.chance_.milliseconds(20, 200),
        [this, rank, begin = *begin] { load(rank, begin); });
  } else if (const auto* lease = std::get_if<messages::Lease>(&message)) {
    take(rank, *lease);
  } else if (std::holds_alternative<messages::Stop>(message)) {
    act(rank, world_.chance_.milliseconds(1, 100), [this, rank] { leave(rank); });
  }
}

void VirtualStart::beat_lifeline(int rank) {
  act(rank, kHeartbeatPeriod, [this, rank] {
    Process& process = at(rank);
    const bool waits = process.is_ready && process.health == Health::kWell &&
                       (waits_in_vain_ || world_.chance_.in(0.2));
    const Pulse pulse = !process.is_ready ? Pulse::kBegins : waits ? Pulse::kWaits : Pulse::kWorks;
    if (process.has_settled && !process.is_cut_off) {
      act(0, microseconds(50),
          [this, rank, pulse] { core_->on_heartbeat(Rank(rank), pulse, world_.time_.now()); });
    }
    beat_lifeline(rank);
  });
}

void VirtualStart::inventory(int rank) {
  messages::Inventory inventory;
  for (const auto& [id, part] : world_.hosts_.at(at(rank).host).parts) {
    inventory.parts.push_back({.of = id, .worker = part});
    told_.insert({id, part, at(rank).host});
  }
  tell(rank, std::move(inventory));
}

void VirtualStart::load(int rank, const messages::Begin& begin) {
  Process& process = at(rank);
  if (process.health == Health::kHangs) {
    return;
  }
  process.done = process.granted = begin.step;
  process.is_ready = true;
  tell(rank, messages::Ready{.plan_hash = 7, .has_buddies = buddy_of(rank) != 0});
}

int VirtualStart::buddy_of(int rank) const {
  for (int step = 1; step < num_workers_; ++step) {
    const int other = 1 + (rank - 1 + step) % num_workers_;
    if (processes_[static_cast<std::size_t>(other)].host !=
        processes_[static_cast<std::size_t>(rank)].host) {
      return other;
    }
  }
  return 0;
}

void VirtualStart::take(int rank, const messages::Lease& lease) {
  Process& process = at(rank);
  process.granted = lease.end;
  process.leases.push_back(lease);
  if (lease.protected_snapshot) {
    process.protected_snapshot = lease.protected_snapshot;
    std::erase_if(world_.hosts_.at(process.host).parts,
                  [&](const auto& entry) { return entry.first.incarnation < incarnation_; });
  }
  follow_leases(rank);
}

void VirtualStart::follow_leases(int rank) {
  Process& process = at(rank);
  while (!process.leases.empty() && process.leases.front().end == process.done) {
    const messages::Lease lease = std::move(process.leases.front());
    process.leases.erase(process.leases.begin());
    if (!lease.checkpoint_directory.empty()) {
      keep_snapshot(rank, lease.end, std::ranges::count(lease.snapshots, lease.end) > 0);
      save(rank, lease.end);
    }
    process.is_last = lease.last;
  }
  say_goodbye(rank);
  try_step();
}

void VirtualStart::save(int rank, std::int64_t step) {
  ++at(rank).files_to_write;
  act(rank, world_.chance_.milliseconds(5, 150), [this, rank, step] {
    --at(rank).files_to_write;
    tell(rank, messages::CheckpointPart{.step = step, .file = fmt::format("worker-{}", rank - 1)});
    say_goodbye(rank);
  });
}

void VirtualStart::say_goodbye(int rank) {
  Process& process = at(rank);
  if (process.is_last && process.files_to_write == 0 && process.health == Health::kWell) {
    process.is_last = false;
    tell(rank, messages::Goodbye{});
  }
}

void VirtualStart::try_step() {
  const std::int64_t done = at(1).done;
  for (int rank = 1; rank <= num_workers_; ++rank) {
    const Process& process = at(rank);
    if (!process.is_ready || process.done != done || process.granted <= done || is_stepping_ ||
        process.has_complained) {
      return;
    }
  }
  if (!unwell().empty()) {
    wait_in_vain();
    return;
  }
  is_stepping_ = true;
  waits_in_vain_ = false;
  after(step_time_ + world_.chance_.milliseconds(0, 2), [this] { end_step(); });
}

std::vector<int> VirtualStart::unwell() const {
  std::vector<int> ranks;
  for (int rank = 1; rank <= num_workers_; ++rank) {
    if (!is_well(processes_[static_cast<std::size_t>(rank)])) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void VirtualStart::end_step() {
  is_stepping_ = false;
  const std::vector<int> lost = unwell();
  const bool is_torn = !lost.empty();
  // What the one that is lost had sent may let others end the step.
  const bool ends_for_some =
      is_torn && at(lost.front()).health != Health::kStopped && world_.chance_.in(0.3);
  for (int rank = 1; rank <= num_workers_ && (!is_torn || ends_for_some); ++rank) {
    if (is_well(at(rank))) {
      report_step(rank, ++at(rank).done);
    }
  }
  if (is_torn) {
    wait_in_vain();
    return;
  }
  for (int rank = 1; rank <= num_workers_; ++rank) {
    follow_leases(rank);
  }
}

void VirtualStart::report_step(int rank, std::int64_t step) {
  Process& process = at(rank);
  messages::Progress progress{.step = step,
                              .figures = {.parts = {0.01}},
                              .snapshot_seconds = 0.001,
                              .copied_snapshot = process.copied,
                              .tried_snapshot = process.tried};
  if (!process.snapshots.empty()) {
    progress.snapshot = *process.snapshots.rbegin();
  }
  const MicrobatchRange range = layout_.range_of(rank - 1);
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    progress.losses.push_back({.microbatch = microbatch, .by_network = {1.0, 1.0}});
  }
  tell(rank, std::move(progress));
  for (const messages::Lease& lease : process.leases) {
    if (std::ranges::count(lease.snapshots, step) > 0) {
      keep_snapshot(rank, step, /*is_copied=*/true);
    }
  }
}

/// As SnapshotMemory does: what is protected stays, or else the newest, and the oldest goes.
void VirtualStart::keep_snapshot(int rank, std::int64_t step, bool is_copied) {
  auto& kept = at(rank).snapshots;
  if (kept.contains(step)) {
    return;
  }
  if (kept.size() == kSlots) {
    const std::int64_t oldest =
        at(rank).protected_snapshot == *kept.begin() ? *std::next(kept.begin()) : *kept.begin();
    for (auto& [name, host] : world_.hosts_) {
      host.parts.erase({id_of(oldest), rank - 1});
    }
    kept.erase(oldest);
  }
  act(rank, world_.chance_.milliseconds(0, 4), [this, rank, step, is_copied] {
    at(rank).snapshots.insert(step);
    world_.hosts_.at(at(rank).host).parts.insert({id_of(step), rank - 1});
    if (const int buddy = buddy_of(rank); is_copied && buddy != 0) {
      act(rank, world_.chance_.milliseconds(1, 60),
          [this, rank, buddy, step] { copy_snapshot(rank, buddy, step); });
    }
  });
}

void VirtualStart::copy_snapshot(int rank, int buddy, std::int64_t step) {
  Process& process = at(rank);
  process.tried = step;
  if (is_well(process) && is_well(at(buddy)) && process.snapshots.contains(step) &&
      !world_.chance_.in(0.02)) {
    world_.hosts_.at(at(buddy).host).parts.insert({id_of(step), rank - 1});
    process.copied = step;
  }
}

/// Peers of one that is lost hear of it at once, or give it up.
void VirtualStart::wait_in_vain() {
  if (std::exchange(waits_in_vain_, true)) {
    return;
  }
  for (int rank = 1; rank <= num_workers_; ++rank) {
    const int lost = unwell().front();
    if (!is_well(at(rank))) {
      continue;
    }
    if (at(lost).health == Health::kGone && !at(lost).is_cut_off && world_.chance_.in(0.3)) {
      act(rank, world_.chance_.milliseconds(1, 20),
          [this, rank, lost] { complain(rank, world_.chance_.in(0.5) ? lost : 0); });
      continue;
    }
    act(rank, kTimeout + world_.chance_.milliseconds(0, 500), [this, rank] {
      if (const std::vector<int> ranks = unwell(); waits_in_vain_ && !ranks.empty()) {
        const int next = 1 + rank % num_workers_;  // that waits as well, perhaps
        complain(rank, world_.chance_.in(0.5) ? ranks.front() : next);
      }
    });
  }
}

void VirtualStart::complain(int rank, int accused) {
  if (std::exchange(at(rank).has_complained, true)) {
    return;
  }
  tell(rank, messages::Stop{.exit_code = static_cast<int>(ExitCode::kWorkerLost),
                            .reason = fmt::format("rank {} waited 3.0 s for rank {} (gradients)",
                                                  rank, accused),
                            .accused = Rank(accused)});
  // The lifeline may close before its last word has come.
  act(rank, world_.chance_.milliseconds(0, 30), [this, rank] { leave(rank); });
}

void VirtualStart::leave(int rank) { gone(rank, std::nullopt); }

void VirtualStart::gone(int rank, std::optional<int> signal) {
  Process& process = at(rank);
  if (process.health == Health::kGone) {
    return;
  }
  process.health = Health::kGone;
  process.pending.clear();
  if (!process.is_cut_off) {
    if (process.has_come && has_supervisor_) {
      after(world_.chance_.milliseconds(0, 3), [this, rank] {
        supervision_.watch().gone(Rank(rank), world_.time_.now());
        look(/*is_due=*/false);
      });
    }
    if (rank > 0 && process.has_settled && !at(0).is_cut_off) {
      act(0, world_.chance_.milliseconds(0, 2), [this, rank, signal] {
        if (signal && *signal != SIGKILL) {
          core_->on_dying(Rank(rank), *signal);
        }
        core_->on_lifeline_closed(Rank(rank), world_.time_.now());
      });
    }
    for (int worker = 1; rank == 0 && worker <= num_workers_; ++worker) {
      if (at(worker).has_settled && !at(worker).is_cut_off) {
        act(worker, world_.chance_.milliseconds(1, 30), [this, worker] { leave(worker); });
      }
    }
  }
  try_step();
  end_mpirun_if_deserted();
}

void VirtualStart::end_mpirun_if_deserted() {
  const bool is_deserted = std::ranges::all_of(processes_, [](const Process& process) {
    return process.health == Health::kGone && !process.is_cut_off;
  });
  if (is_deserted && !is_mpirun_stopped_) {
    after(world_.chance_.milliseconds(10, 100), [this] { end_mpirun(0); });
  }
}

// ---- the coordinator's event loop ----

void VirtualStart::carry_out(const coordinator::Effects& effects) {
  for (const coordinator::Effect& effect : effects) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
}

void VirtualStart::carry_out(const coordinator::SendMessage& send) {
  for (const Rank receiver : send.ranks) {
    const int rank = receiver.value();
    Process& process = at(rank);
    if (process.is_cut_off || at(0).is_cut_off) {
      continue;
    }
    const TimePoint now = world_.time_.now();
    process.last_order =
        std::max(process.last_order + microseconds(1), now + world_.chance_.milliseconds(0.05, 3));
    act(rank, process.last_order - now,
        [this, rank, message = send.message] { get(rank, message); });
  }
}

void VirtualStart::carry_out(const coordinator::GrantLease& grant) {
  messages::Lease lease = grant.lease;
  if (grant.checkpoint_step) {
    lease.checkpoint_directory = "/run/.tmp";
    reach(Moment::kSave);
  }
  if (lease.last) {
    reach(Moment::kLast);
  }
  const bool has_all_hosts = std::ranges::none_of(processes_, &Process::is_cut_off);
  if (has_all_hosts && !has_stalled_ && lease.protected_snapshot &&
      !is_whole(*lease.protected_snapshot)) {
    world_.problem(fmt::format("not all have the snapshot of step {}", *lease.protected_snapshot));
  }
  carry_out(coordinator::SendMessage{core_->membership().ranks(), std::move(lease)});
}

bool VirtualStart::is_whole(std::int64_t step) const {
  for (int worker = 0; worker < num_workers_; ++worker) {
    if (std::ranges::none_of(world_.hosts_, [&](const auto& entry) {
          return entry.second.parts.contains({id_of(step), worker});
        })) {
      return false;
    }
  }
  return true;
}

void VirtualStart::carry_out(const coordinator::ChooseResumePoint& question) {
  coordinator::ResumePoint point = choice_->choose(question.inventory);
  const std::int64_t newest = newest_told();
  if (point.step != newest) {
    world_.problem(fmt::format("begins at step {}, and {} could be had", point.step, newest));
  }
  if (point.step < world_.saved_at_.value_or(0)) {
    world_.problem(
        fmt::format("begins at step {}, and {} was saved", point.step, *world_.saved_at_));
  }
  if (world_.trained_ && world_.hostfile_.empty() &&
      point.step < *world_.trained_ - kSnapshotSteps - 4) {
    world_.problem(
        fmt::format("begins at step {}, and {} were done", point.step, *world_.trained_));
  }
  auto& ticks = world_.disk_.ticks;
  std::erase_if(ticks, [&](const report::Tick& tick) { return tick.step > point.step; });
  point.first_tick = ticks.empty() ? 1 : ticks.back().index + 1;
  world_.tell(fmt::format("start {} begins at step {}{}", incarnation_, point.step,
                          point.snapshot ? ", a snapshot" : ""));
  carry_out(core_->begin_with(point));
}

std::int64_t VirtualStart::newest_told() const {
  const auto& checkpoints = world_.disk_.checkpoints;
  std::int64_t newest = checkpoints.empty() ? 0 : *checkpoints.rbegin();
  std::map<SnapshotId, std::set<int>> parts;
  for (const auto& [id, part, host] : told_) {
    parts[id].insert(part);
  }
  for (const auto& [id, found] : parts) {
    newest = std::cmp_equal(found.size(), id.num_workers) ? std::max(newest, id.step) : newest;
  }
  return newest;
}

void VirtualStart::carry_out(const coordinator::CommitCheckpoint& commit) {
  act(0, world_.chance_.milliseconds(1, 100), [this, step = commit.checkpoint.step] {
    world_.disk_.checkpoints.insert(step);
    act(0, microseconds(500),
        [this, step] { carry_out(core_->checkpoint_committed(step, world_.time_.now())); });
  });
}

void VirtualStart::carry_out(const coordinator::ShowPlacement& placement) {
  world_.disk_.start.begun = placement.step;
  reach(Moment::kTraining);
}

void VirtualStart::carry_out(const coordinator::ShowTick& tick) {
  world_.disk_.ticks.push_back(tick.tick);
}

void VirtualStart::carry_out(const coordinator::RecordDecisions& /*record*/) {
  world_.problem("a decision, and nothing was to decide");
}

void VirtualStart::carry_out(const coordinator::EndJob& end) {
  world_.disk_.status = end_ = end.end;
  for (int rank = 1; rank <= num_workers_; ++rank) {
    if (end_->is_orderly || (at(rank).has_settled && !at(rank).is_cut_off)) {
      act(rank, world_.chance_.milliseconds(1, 100), [this, rank] { leave(rank); });
    }
  }
  if (end_->is_orderly) {
    act(0, world_.chance_.milliseconds(100, 150), [this] { leave(0); });
    return;
  }
  act(0, seconds(2), [this] {
    for (int rank = 1; rank <= num_workers_; ++rank) {
      if (is_here(at(rank)) == is_here(at(0))) {
        gone(rank, SIGKILL);
      }
    }
    leave(0);
  });
}

void VirtualStart::request(coordinator::Request request, int signal) {
  if (core_) {
    carry_out(core_->on_request(request, signal, world_.time_.now()));
  }
}

}  // namespace gangway::launch
