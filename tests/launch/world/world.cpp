// SPDX-License-Identifier: MIT
#include "tests/launch/world/world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/system/start_child.hpp"
#include "job/estimate/dry_run.hpp"
#include "tests/launch/world/virtual_start.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostEvents = 4'000'000;

bool is_own_host(const std::string& name) { return name == kOwnHost; }

}  // namespace

World::World(std::uint64_t seed, const std::array<coordinator::StartedRun*, 3>& runs)
    : chance_(seed), runs_(runs), num_blows_(chance_.number(6, 14)) {
  const int layout = chance_.number(0, 3) % 3;  // layout 0 twice as often
  run_ = runs_.at(static_cast<std::size_t>(layout));
  workers_ = layout == 0 ? chance_.number(1, kMicrobatches) : layout == 1 ? 3 : 4;
  if (chance_.in(0.5)) {
    for (int slots = 0, host = 1; slots < workers_ || host <= 2 || chance_.in(0.4); ++host) {
      hostfile_.push_back({fmt::format("host{}", host), chance_.number(1, 2)});
      slots += hostfile_.back().slots;
    }
  }
  hosts_[kOwnHost];
  for (const Host& host : hostfile_) {
    hosts_[host.name];
  }
}

World::~World() = default;

void World::problem(const std::string& what) {
  tell("PROBLEM: " + what);
  problems_.push_back(what);
}

void World::tell(const std::string& line) {
  story_ += fmt::format("{:9.3f}  {}\n",
                        gangway::seconds(time_.now() - TimePoint(std::chrono::hours(1))), line);
}

void World::run() {
  begin_command();
  std::size_t events = 0;
  while (!is_done_ && problems_.empty() && time_.step()) {
    if (++events > kMostEvents) {
      problem("the run never ends");
    }
  }
  if (!is_done_ && problems_.empty()) {
    problem("nothing happens any more, and the run has not ended");
  }
}

void World::begin_command() {
  for (auto& [name, host] : hosts_) {
    host.is_up = true;  // the user has repaired them
  }
  tell(fmt::format("gangway run with {} workers on {} hosts", workers_,
                   std::max<std::size_t>(1, hostfile_.size())));
  recovery_.emplace(LayoutChoice::kAutoRestarts, disk_.start.incarnation);
  host_allocator_.emplace(hostfile_, workers_, 1,
                          AllocationCallbacks{.is_this_host = is_own_host,
                                              .is_possible =
                                                  [this](const HostAllocation& allocation) {
                                                    return is_possible(allocation);
                                                  },
                                              .replicate_networks =
                                                  [this] {
                                                    const bool is_news = run_ != runs_.front();
                                                    run_ = runs_.front();
                                                    return is_news;
                                                  },
                                              .find_silent =
                                                  [this](const std::vector<Host>& hosts) {
                                                    std::vector<std::string> silent;
                                                    for (const Host& host : hosts) {
                                                      if (!hosts_.at(host.name).is_up) {
                                                        silent.push_back(host.name);
                                                      }
                                                    }
                                                    return silent;
                                                  }});
  starts_ = 0;
  starts_allowed_ = 1;
  in_vain_ = 0;
  furthest_.reset();
  begin_start();
}

bool World::is_possible(const HostAllocation& allocation) {
  const auto [known, is_news] = possible_.try_emplace({run_, allocation.workers}, false);
  if (is_news) {
    try {
      require_workers(run_->spec, allocation.workers);
      known->second = true;
    } catch (const Error&) {
    }
  }
  return known->second;
}

void World::begin_start() {
  disk_.status.reset();
  if (++starts_ > starts_allowed_) {
    problem(fmt::format("start {} of a command, and {} have a reason", starts_, starts_allowed_));
  }
  start_ = std::make_shared<VirtualStart>(*this, host_allocator_->now(), recovery_->goes_on(),
                                          starts_ > 1);
  start_->begin();
}

void World::lose_host(const std::string& name, bool loses_memory) {
  VirtualHost& host = hosts_.at(name);
  host.is_up = false;
  if (loses_memory) {
    host.parts.clear();
  }
  start_->lose_host(name, loses_memory);
  time_.after(chance_.milliseconds(20'000, 200'000),
              [this, name] { hosts_.at(name).is_up = true; });
}

/// Checks exit code and name of the lost process.
void World::check_end(const RunEnd& end) {
  tell(
      fmt::format("start {} ends with {}: {}", disk_.start.incarnation, end.exit_code, end.reason));
  const auto& victims = start_->victims();
  trained_ = start_->trained();
  saved_at_.reset();
  const bool is_asked = start_->was_to_leave();
  if (end.was_to_leave != is_asked) {
    problem("the supervisor does not know what its user wanted");
  }
  if (end.exit_code == static_cast<int>(ExitCode::kDone)) {
    return;
  }
  if (end.exit_code == static_cast<int>(ExitCode::kWorkerLost)) {
    ++losses_;
    const bool is_named = std::ranges::any_of(victims, [&](const VirtualStart::Victim& victim) {
      // mpirun ends with its last rank.
      const bool is_mpirun =
          victim.is_mpirun || std::cmp_greater(victims.size(), start_->num_workers());
      if (std::cmp_greater(victim.ranks.size(), start_->num_workers()) &&
          end.reason.starts_with("no rank has connected")) {
        return true;
      }
      if (is_mpirun && end.reason.starts_with("mpirun")) {
        return true;
      }
      return (victim.ranks.contains(0) && end.reason.starts_with("the coordinator")) ||
             (end.rank != Rank() && victim.ranks.contains(end.rank.value()) &&
              end.reason.starts_with(fmt::format("rank {} ", end.rank)));
    });
    if (!is_named) {
      problem("not the one that was lost: " + end.reason);
    }
    return;
  }
  if (end.exit_code == static_cast<int>(ExitCode::kPreempted)) {
    const auto& run_end = start_->run_end();
    const bool is_resized = end.resize.has_value();
    if (!is_asked && !is_resized) {
      problem("it leaves unasked");
    }
    if (run_end && run_end->is_orderly) {
      saved_at_ = run_end->step;
      if (run_end->step > 0 && !disk_.checkpoints.contains(run_end->step)) {
        problem(fmt::format("it says that step {} is saved", run_end->step));
      }
    }
    return;
  }
  if (end.exit_code != kEndedBySignal + SIGINT || !start_->was_forced()) {
    problem(fmt::format("exit code {}: {}", end.exit_code, end.reason));
  }
}

void World::after_start(const RunEnd& end) {
  check_end(end);
  switch (recovery_->next(end, disk_.start)) {
    case Next::kEnd:
      after_command(end.exit_code);
      break;
    case Next::kLeave:
      after_command(static_cast<int>(ExitCode::kPreempted));
      break;
    case Next::kAfterLoss:
      after_loss(end);
      break;
    case Next::kAfterResize:
      ++starts_allowed_;
      if (end.resize->drained.empty()) {
        host_allocator_->resize(end.resize->workers, std::nullopt, time_.now());
      } else {
        host_allocator_->drain(end.resize->drained, end.resize->workers);
      }
      tell(fmt::format("goes on with {} workers", host_allocator_->now().workers));
      begin_start();
      break;
    case Next::kAfterRollback:
      problem("it rolls back");
      break;
  }
}

void World::after_loss(const RunEnd& end) {
  ++starts_allowed_;
  bool has_lineup = true;
  const auto no_wait = [](const auto& /*hosts*/) { return std::nullopt; };  // no time passes
  const auto answer = recovery_->answer(end, *host_allocator_, [&] {
    return has_lineup = host_allocator_->after_loss(end.rank, time_.now(), no_wait);
  });
  tell(answer.restart.answer);
  if (!disk_.restarts.empty() && answer.restart.start < disk_.restarts.back().start) {
    problem("restarts.jsonl goes back");
  }
  in_vain_ = answer.restart.begun > furthest_ ? 0 : in_vain_ + 1;
  furthest_ = answer.restart.begun ? answer.restart.begun : furthest_;
  disk_.restarts.push_back(answer.restart);
  if (answer.wait.has_value() != (has_lineup && in_vain_ < RestartPolicy::kMostInVain)) {
    problem(fmt::format("{} losses in vain, and: {}", in_vain_, answer.restart.answer));
  }
  if (!answer.wait) {
    after_command(end.exit_code);
    return;
  }
  for (const Host& host : host_allocator_->now().hosts) {
    if (!hosts_.at(host.name).is_up) {
      problem("starts on a host that does not answer");
    }
  }
  time_.after(*answer.wait + milliseconds(chance_.number(1, 200)), [this] { begin_start(); });
}

void World::after_command(int exit_code) {
  tell(fmt::format("gangway run ends with {}", exit_code));
  if (disk_.status && disk_.status->saved) {
    hosts_.at(kOwnHost).parts.clear();  // everything is on the disk
  }
  if (exit_code != static_cast<int>(ExitCode::kDone)) {
    time_.after(chance_.milliseconds(100, 60'000), [this] { begin_command(); });
    return;
  }
  is_done_ = true;
  std::int64_t step = 0;
  for (std::size_t index = 0; index < disk_.ticks.size(); ++index) {
    const report::Tick& tick = disk_.ticks[index];
    if (std::cmp_not_equal(tick.index, index + 1) || tick.step <= step) {
      problem(fmt::format("tick {} of step {} comes after tick {} of step {}", tick.index,
                          tick.step, index, step));
    }
    step = tick.step;
  }
  // If the coordinator died before it wrote a tick, the tick is missing, but not its steps.
  if (disk_.checkpoints.empty() || *disk_.checkpoints.rbegin() != kTotalSteps) {
    problem("done, and the last step is not saved");
  }
}

void World::after_killed_command() {
  tell("nothing is left of a gangway run that was killed");
  saved_at_.reset();
  trained_.reset();
  time_.after(chance_.milliseconds(100, 60'000), [this] { begin_command(); });
}

Blow World::draw_blow() {
  if (num_blows_ == 0) {
    return Blow::kNone;
  }
  --num_blows_;
  if (chance_.in(0.4)) {
    return Blow::kWorkerKilled;
  }
  const auto blow = static_cast<Blow>(chance_.number(1, static_cast<int>(kNumBlows) - 1));
  const bool is_of_hosts = blow == Blow::kHostWithoutPower || blow == Blow::kHostCutOff;
  return is_of_hosts && hostfile_.empty() ? Blow::kWorkerKilled : blow;
}

}  // namespace gangway::launch
