// SPDX-License-Identifier: MIT
// The supervisor of a virtual start, and what a seed does to it.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tests/launch/world/virtual_start.hpp"

namespace gangway::launch {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

void VirtualStart::look(bool is_due) {
  if (!has_supervisor_) {
    return;
  }
  if (is_due) {
    after(supervision_.watch().is_starting() ? milliseconds(100) : milliseconds(500),
          [this] { look(/*is_due=*/true); });
  }
  if (is_ending_) {
    return;
  }
  const TimePoint now = world_.time_.now();
  if (now >= next_look_) {
    next_look_ = now + milliseconds(500);
    look_around();
  }
  if (supervision_.check(now, [this] { look_for_end(); })) {
    end_job();
  }
}

void VirtualStart::look_for_end() {
  if (world_.disk_.status) {
    supervision_.watch().ended(world_.disk_.status->exit_code, world_.time_.now());
    kill_here(Health::kStopped);
  }
}

void VirtualStart::kill_here(std::optional<Health> health) {
  for (int rank = 0; rank <= num_workers_; ++rank) {
    if (is_here(at(rank)) && at(rank).health == health.value_or(at(rank).health)) {
      gone(rank, SIGKILL);
    }
  }
}

void VirtualStart::look_around() {
  look_for_end();
  std::vector<StoppedProcess> stopped;
  if (is_mpirun_stopped_) {
    stopped.push_back({99, "mpirun", std::nullopt});
  }
  for (int rank = 0; rank <= num_workers_ && supervision_.watch().is_starting(); ++rank) {
    if (is_here(at(rank)) && at(rank).health == Health::kStopped) {
      stopped.push_back({100 + rank, "gangway-worker", Rank(rank)});
    }
  }
  supervision_.watch().stopped(stopped, world_.time_.now());
}

void VirtualStart::end_job() {
  is_ending_ = true;
  for (int rank = 0; rank <= num_workers_; ++rank) {
    if (at(rank).has_come && !at(rank).is_cut_off) {
      act(rank, world_.chance_.milliseconds(1, 50), [this, rank] { leave(rank); });
    }
  }
  kill_here(Health::kStopped);
  is_mpirun_stopped_ = false;
  after(milliseconds(500), [this] { kill_here(std::nullopt); });
  after(world_.chance_.milliseconds(600, 1500), [this] { end_mpirun(SIGTERM); });
}

/// @param status  as waitpid() has it
void VirtualStart::end_mpirun(int status) {
  if (!has_supervisor_) {
    return;
  }
  kill_here(std::nullopt);
  is_over_ = true;
  auto& recorded = world_.disk_.status;
  const RunEnd end = supervision_.finish(recorded, status).end;
  if (supervision_.own_end() && !recorded) {
    recorded = supervision_.own_end();
  }
  world_.after_start(end);
}

void VirtualStart::signal(int number) {
  const Supervision::Passed passed = supervision_.on_signal(number, world_.time_.now());
  was_to_leave_ = was_to_leave_ || number != SIGUSR2;
  if (passed.to_mpirun != 0 && !is_mpirun_stopped_) {
    act(0, world_.chance_.milliseconds(1, 30), [this, number = passed.to_mpirun] {
      request(number == SIGUSR2 ? coordinator::Request::kSaveAndGoOn
                                : coordinator::Request::kSaveAndLeave,
              number);
    });
  }
  if (passed.ends_now) {
    was_forced_ = true;
    act(0, microseconds(100), [this] { request(coordinator::Request::kEndNow, SIGINT); });
  }
  look(/*is_due=*/false);
}

// ---- blows ----

void VirtualStart::plan_blow() {
  blow_ = world_.draw_blow();
  // The last lease comes but once, and ends the run.
  blow_moment_ =
      world_.chance_.in(0.05) ? Moment::kLast : static_cast<Moment>(world_.chance_.number(0, 2));
}

void VirtualStart::reach(Moment moment) {
  if (moment != blow_moment_ || blow_ == Blow::kNone) {
    return;
  }
  constexpr std::array<double, 4> kMost{1'300, 1'000, 300, 400};
  after(world_.chance_.milliseconds(0, kMost[static_cast<std::size_t>(moment)]),
        [this, blow = std::exchange(blow_, Blow::kNone)] { strike(blow); });
}

void VirtualStart::expect_end(Timeline::Duration limit) {
  const bool all_have_come = std::ranges::all_of(processes_, &Process::has_come);
  // Time for those that have not come, and behind a recorded end.
  const bool has_more_time = !all_have_come || end_;
  const bool none_has_come = std::ranges::none_of(processes_, &Process::has_come);
  after(limit + (none_has_come ? kStartDeadline : seconds(has_more_time ? 15 : 0)),
        [this] { world_.problem("the loss has no end"); });
}

void VirtualStart::strike(Blow blow) {
  ++world_.blows_[static_cast<std::size_t>(blow)];
  world_.tell(fmt::format("blow {}", static_cast<int>(blow)));
  switch (blow) {
    case Blow::kWorkerKilled:
    case Blow::kWorkerCrashes:
    case Blow::kWorkerStopped:
    case Blow::kWorkerHangs:
    case Blow::kWorkerPauses:
      strike_worker(blow);
      break;
    case Blow::kCoordinatorKilled:
      victims_.push_back({.ranks = {0}});
      gone(0, SIGKILL);
      expect_end(seconds(5));
      break;
    case Blow::kCoordinatorStopped:
      victims_.push_back({.ranks = {0}});
      stop(0);
      expect_end(kTimeout + seconds(5));
      break;
    case Blow::kCoordinatorPauses:
      pause(0);
      break;
    case Blow::kMpirunKilled:
      victims_.push_back({.ranks = {}, .is_mpirun = true});
      after(milliseconds(1), [this] { end_mpirun(SIGKILL); });
      break;
    case Blow::kMpirunStopped:
      victims_.push_back({.ranks = {}, .is_mpirun = true});
      is_mpirun_stopped_ = true;
      expect_end(kTimeout + seconds(5));
      break;
    case Blow::kHostWithoutPower:
    case Blow::kHostCutOff: {
      const auto place = static_cast<std::size_t>(
          world_.chance_.number(1, static_cast<int>(world_.hostfile_.size()) - 1));
      world_.lose_host(world_.hostfile_[place].name, blow == Blow::kHostWithoutPower);
      break;
    }
    default:
      strike_command(blow);
  }
  const bool is_loss = blow < Blow::kSupervisorKilled && blow != Blow::kWorkerHangs;
  if (is_loss && world_.chance_.in(0.1)) {
    after(world_.chance_.milliseconds(0, world_.chance_.in(0.5) ? 1 : 400), [this] {
      strike(world_.chance_.in(0.7) ? Blow::kWorkerKilled : Blow::kCoordinatorKilled);
    });
  }
}

void VirtualStart::strike_worker(Blow blow) {
  const int rank = world_.chance_.number(1, num_workers_);
  if (at(rank).health != Health::kWell || at(rank).is_cut_off) {
    return;
  }
  if (blow == Blow::kWorkerPauses) {
    pause(rank);
    return;
  }
  if (blow == Blow::kWorkerHangs && !at(rank).is_ready) {
    return;
  }
  victims_.push_back({.ranks = {rank}});
  if (blow == Blow::kWorkerStopped) {
    stop(rank);
    expect_end(kTimeout + seconds(5));
  } else if (blow == Blow::kWorkerHangs) {
    at(rank).health = Health::kHangs;
    // One for which no peer waits is found by its silence, which may be long before the first step.
    const bool is_awaited = num_workers_ > 1 && at(rank).granted > at(rank).done;
    expect_end(
        is_awaited
            ? kTimeout + kBlamePatience + seconds(5)
            : seconds(shown_step_ > world_.disk_.start.begun.value_or(kTotalSteps) ? 70 : 610));
  } else {
    gone(rank, blow == Blow::kWorkerCrashes ? SIGSEGV : SIGKILL);
    expect_end(seconds(5));
  }
}

void VirtualStart::stop(int rank) {
  if (at(rank).health == Health::kWell) {
    at(rank).health = Health::kStopped;
  }
}

void VirtualStart::pause(int rank) {
  has_stalled_ = has_stalled_ || rank == 0;
  stop(rank);
  after(world_.chance_.milliseconds(10, 2'000), [this, rank] {
    Process& process = at(rank);
    if (process.health == Health::kStopped) {
      process.health = Health::kWell;
      for (const auto& deed : std::exchange(process.pending, {})) {
        act(rank, microseconds(0), deed);
      }
      try_step();
    }
  });
}

void VirtualStart::lose_host(const std::string& name, bool loses_power) {
  Victim victim;
  for (int rank = 0; rank <= num_workers_; ++rank) {
    Process& process = at(rank);
    if (process.host != name || process.health == Health::kGone) {
      continue;
    }
    victim.ranks.insert(rank);
    process.is_cut_off = true;
    if (loses_power) {
      process.health = Health::kGone;
      process.pending.clear();
    } else if (rank == 0) {
      stop(0);  // it waits for the run directory
    }
    if (rank > 0 && process.has_settled) {
      act(0, kCutOffDeadline + world_.chance_.milliseconds(0, 500), [this, rank] {
        core_->on_cut_off(Rank(rank));
        core_->on_lifeline_closed(Rank(rank), world_.time_.now());
      });
    }
  }
  if (!victim.ranks.empty()) {
    victims_.push_back(std::move(victim));
    expect_end(kTimeout + seconds(5));
  }
}

void VirtualStart::strike_command(Blow blow) {
  switch (blow) {
    case Blow::kSupervisorKilled:
      has_supervisor_ = false;
      act(0, world_.chance_.milliseconds(1, 20),
          [this] { request(coordinator::Request::kSaveAndLeave, SIGTERM); });
      after(kOrphansLeave, [this] {
        for (int rank = 0; rank <= num_workers_; ++rank) {
          gone(rank, SIGKILL);
        }
      });
      after(kOrphansLeave + milliseconds(500), [this] {
        is_over_ = true;
        world_.after_killed_command();
      });
      break;
    case Blow::kTerminated:
      signal(SIGTERM);
      break;
    case Blow::kInterrupted:
      signal(SIGINT);
      if (world_.chance_.in(0.5)) {
        after(world_.chance_.milliseconds(0, 500), [this] { signal(SIGINT); });
      }
      break;
    case Blow::kSavesAndGoesOn:
      signal(SIGUSR2);
      break;
    case Blow::kResized:
    case Blow::kDrained:
      if (core_ && at(0).health == Health::kWell) {
        coordinator::Order order = coordinator::ResizeJob{world_.chance_.number(1, kMicrobatches)};
        if (blow == Blow::kDrained) {
          order = coordinator::DrainWorkers{std::to_string(world_.chance_.number(1, num_workers_))};
        }
        const auto commanded =
            core_->on_command({std::move(order), "ann"}, world_.time_.now(), kUnixSeconds);
        world_.tell(commanded.answer.text);
        carry_out(commanded.effects);
      }
      break;
    default:
      break;
  }
}

}  // namespace gangway::launch
