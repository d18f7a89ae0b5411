// SPDX-License-Identifier: MIT
#include "launch/run/job_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/time.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;

// A rank's last report, through the file system or mpirun, may arrive after its end.
constexpr milliseconds kLastWords{300};
// Factor by which a rank may take longer to come than the first one.
constexpr int kSlowerThanTheFirst = 2;
// Many ranks on few cores start one after another.
constexpr milliseconds kTurnOfARank{100};
constexpr milliseconds kMostTurns{15'000};

}  // namespace

JobWatch::JobWatch(int ranks, TimePoint start, const WatchLimits& limits)
    : limits_(limits), start_(start), processes_(static_cast<std::size_t>(ranks)) {
  for (Rank rank; rank.value() < ranks; ++rank) {
    at(rank).name = rank == Rank() ? "the coordinator" : fmt::format("rank {}", rank);
  }
}

void JobWatch::greeted(const TetherGreeting& said, TimePoint now) {
  Process& process = at(said.rank);
  process.greeted = now;
  process.pid = said.process.pid;
  process.name += fmt::format(" (host {}, pid {})", said.host, said.process.pid);
  first_ = first_.value_or(now);
}

void JobWatch::heard(Rank rank, TimePoint now) { at(rank).heard = now; }

void JobWatch::settled(Rank rank) { at(rank).is_settled = true; }

void JobWatch::gone(Rank rank, TimePoint now) { at(rank).gone = now; }

void JobWatch::waits_for_disk(TimePoint now) { disk_wait_at_ = now; }

void JobWatch::ended(int exit_code, TimePoint now) {
  if (!ended_) {
    ended_ = now;
    exit_code_ = exit_code;
  }
}

void JobWatch::stopped(const std::vector<StoppedProcess>& processes, TimePoint now) {
  decltype(stopped_) still;
  for (const StoppedProcess& process : processes) {
    const auto before = stopped_.find(process.pid);
    still.emplace(process.pid, before == stopped_.end() ? std::pair(process, now) : before->second);
  }
  stopped_ = std::move(still);
}

bool JobWatch::is_starting() const {
  return !std::ranges::all_of(processes_, &Process::is_settled);
}

std::optional<JobWatch::TimePoint> JobWatch::all_gone_since() const {
  TimePoint last = start_;
  for (const Process& process : processes_) {
    if (!process.gone) {
      return std::nullopt;
    }
    last = std::max(last, *process.gone);
  }
  return last;
}

std::optional<RunEnd> JobWatch::check(TimePoint now) const {
  if (auto end = check_end(now); end || ended_) {
    return end;
  }
  // Causes are checked before their effects.
  for (const auto step : {&JobWatch::check_stopped, &JobWatch::check_losses,
                          &JobWatch::check_coming, &JobWatch::check_silence}) {
    if (auto end = (this->*step)(now)) {
      return end;
    }
  }
  return std::nullopt;
}

std::optional<RunEnd> JobWatch::check_end(TimePoint now) const {
  if (!ended_) {
    if (is_leaving_ && !is_led()) {
      return ended_by(ExitCode::kPreempted,
                      "stopped on request before the ranks had met: the same command continues");
    }
    return std::nullopt;
  }
  const bool is_lost = exit_code_ == static_cast<int>(ExitCode::kWorkerLost);
  const auto after_loss = saving_at_ ? limits_.after_keeping : limits_.after_loss;
  const auto patience = is_lost ? after_loss : limits_.after_status;
  const auto after_ranks = exit_code_ == 0 ? limits_.after_ranks : limits_.after_early_end;
  const auto all_gone = all_gone_since();
  // Workers that have not settled wait in MPI_Init and do not notice the coordinator's end.
  const bool is_deserted = processes_.front().gone &&
                           now - *processes_.front().gone >= kLastWords &&
                           (!is_led() || now - *processes_.front().gone >= after_ranks);
  const TimePoint last_sign = std::min(saving_at_.value_or(*ended_), *ended_ + kKeepingDeadline);
  if (now - last_sign >= patience || is_deserted || (all_gone && now - *all_gone >= after_ranks)) {
    return RunEnd{.exit_code = exit_code_};
  }
  return std::nullopt;
}

std::optional<RunEnd> JobWatch::check_losses(TimePoint now) const {
  for (const Process& process : processes_) {
    // The coordinator names the lost rank to the other ranks, after it has all accusations.
    const bool is_its_own = is_led() && process.is_settled && &process != &processes_.front();
    const auto patience = is_its_own ? kBlamePatience + limits_.for_verdict : kLastWords;
    if (process.gone && now - *process.gone >= patience) {
      return ended_by(
          ExitCode::kWorkerLost,
          is_led()
              ? fmt::format("{} was killed or has crashed", process.name)
              : fmt::format("{} was killed or has crashed before all ranks had met", process.name),
          rank_of(process));
    }
  }
  return std::nullopt;
}

std::optional<std::string> JobWatch::lost_coordinator() const {
  const Process& coordinator = processes_.front();
  return coordinator.gone && !ended_
             ? std::optional(fmt::format("{} was killed or has crashed", coordinator.name))
             : std::nullopt;
}

std::optional<RunEnd> JobWatch::check_coming(TimePoint now) const {
  if (!first_) {
    if (now - start_ < limits_.coming) {
      return std::nullopt;
    }
    return ended_by(ExitCode::kWorkerLost,
                    fmt::format("no rank has connected for {:.0f} s: mpirun hangs, or a host does "
                                "not answer; try 'gangway doctor'",
                                seconds(now - start_)));
  }
  const auto spread = std::max<std::chrono::steady_clock::duration>(
      {limits_.spread, kSlowerThanTheFirst * (*first_ - start_),
       std::min(kTurnOfARank * static_cast<int>(processes_.size()), kMostTurns)});
  for (const Process& process : processes_) {
    if (!process.greeted && now - *first_ >= spread) {
      return ended_by(ExitCode::kWorkerLost,
                      fmt::format("{} has not connected {:.0f} s after the first rank: it died at "
                                  "once, is stopped, or its host hangs",
                                  process.name, seconds(now - *first_)),
                      rank_of(process));
    }
  }
  return std::nullopt;
}

std::optional<RunEnd> JobWatch::check_silence(TimePoint now) const {
  for (const Process& process : processes_) {
    const bool is_coordinator = &process == &processes_.front();
    if (!process.greeted || process.gone || (process.is_settled && !is_coordinator)) {
      continue;
    }
    const TimePoint heard = process.heard.value_or(*process.greeted);
    const auto limit = process.heard ? limits_.silence : limits_.coming;
    const bool is_excused = is_coordinator && disk_wait_at_ &&
                            now - *disk_wait_at_ < limits_.silence &&
                            now - heard < kTimeoutsToWrite * limits_.silence;
    if (now - heard >= limit && !is_excused) {
      return ended_by(ExitCode::kWorkerLost,
                      fmt::format("{} has been silent for {:.0f} s: its process is stopped or "
                                  "hangs, or its host is cut off",
                                  process.name, seconds(now - heard)),
                      rank_of(process));
    }
  }
  return std::nullopt;
}

std::optional<RunEnd> JobWatch::check_stopped(TimePoint now) const {
  for (const auto& [pid, entry] : stopped_) {
    const auto& [process, since] = entry;
    if (now - since >= limits_.silence) {
      const bool is_rank = process.rank && process.rank->place() < processes_.size();
      return ended_by(
          ExitCode::kWorkerLost,
          fmt::format("{} has been stopped (SIGSTOP) for {:.0f} s: the job waits for it in vain",
                      is_rank ? processes_[process.rank->place()].name
                              : fmt::format("{} (pid {})", process.program, pid),
                      seconds(now - since)),
          is_rank ? *process.rank : Rank());
    }
  }
  return std::nullopt;
}

}  // namespace gangway::launch
