// SPDX-License-Identifier: MIT
#include "coordinator/core/membership.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "report/failure_box.hpp"

namespace gangway::coordinator {
bool takes_part(const Member& member) {
  return member.state == WorkerState::kJoined || member.state == WorkerState::kReady;
}

bool waits(const Member& member, TimePoint now) {
  constexpr auto kOld = 3 * kHeartbeatPeriod;
  return member.pulse == Pulse::kWaits && member.heard && now - *member.heard < kOld;
}

namespace {

bool is_settled(const Member& member) {
  return (member.state == WorkerState::kReady && member.heard) ||
         member.state == WorkerState::kLeft;
}

}  // namespace

template <typename How>
void Membership::change(Rank rank, const How& how) {
  Member& member = at(rank);
  const bool was_settled = is_settled(member);
  const bool had_left = member.state == WorkerState::kLeft;
  how(member);
  num_settled_ = num_settled_ - (was_settled ? 1 : 0) + (is_settled(member) ? 1 : 0);
  num_left_ = num_left_ - (had_left ? 1 : 0) + (member.state == WorkerState::kLeft ? 1 : 0);
}

Membership::Membership(int num_workers, TimePoint start, const MembershipLimits& limits,
                       std::string build)
    : build_(std::move(build)), start_(start), limits_(limits) {
  for (WorkerIndex worker; worker.value() < num_workers; ++worker) {
    members_.emplace_back().rank = rank_of(worker);
  }
}

std::string Membership::describe(Rank rank) const {
  const Member& member = this->member(rank);
  if (member.state == WorkerState::kExpected) {
    return fmt::format("rank {}", rank);
  }
  return fmt::format("rank {} (host {}, pid {})", rank, member.host, member.process.pid);
}

std::optional<Fault> Membership::join(Rank rank, const messages::Hello& hello) {
  if (!has(rank)) {
    return Fault{ExitCode::kInternal, Rank(),
                 fmt::format("a Hello came from rank {}, outside 1..{}", rank, members_.size())};
  }
  if (hello.protocol != kProtocolVersion) {
    return Fault{ExitCode::kEnvironment, rank,
                 fmt::format("rank {} on host {} speaks protocol {}, the coordinator {}: start all "
                             "ranks from one build",
                             rank, hello.host, hello.protocol, kProtocolVersion)};
  }
  if (hello.build != build_) {
    return Fault{ExitCode::kEnvironment, rank,
                 fmt::format("rank {} on host {} is of build {}, the coordinator of {}: start all "
                             "ranks from one build (./launch/build makes all programs; every host "
                             "needs the same)",
                             rank, hello.host, hello.build, build_)};
  }
  Member& member = at(rank);
  if (member.state != WorkerState::kExpected) {
    return Fault{ExitCode::kInternal, rank, fmt::format("{} said Hello twice", describe(rank))};
  }
  member.host = hello.host;
  member.process = hello.process;
  member.shared_memory = hello.shared_memory;
  member.device = hello.device;
  member.state = WorkerState::kJoined;
  quiet_until_ = {};
  return std::nullopt;
}

std::optional<Fault> Membership::ready(Rank rank, const messages::Ready& ready) {
  const std::uint64_t plan_hash = ready.plan_hash;
  if (member(rank).state != WorkerState::kJoined) {
    return Fault{ExitCode::kInternal, rank,
                 fmt::format("{} said Ready out of turn", describe(rank))};
  }
  if (plan_hash_.value_or(plan_hash) != plan_hash) {
    return Fault{
        ExitCode::kInternal, rank,
        fmt::format("{} made plan {:016x}, rank {} made {:016x}: start all ranks from one build",
                    describe(rank), plan_hash, plan_rank_, *plan_hash_)};
  }
  if (!plan_hash_) {
    plan_hash_ = plan_hash;
    plan_rank_ = rank;
  }
  change(rank, [&](Member& one) {
    one.arithmetic = ready.arithmetic;
    one.state = WorkerState::kReady;
  });
  return std::nullopt;
}

void Membership::leave(Rank rank) {
  change(rank, [](Member& member) { member.state = WorkerState::kLeft; });
}

void Membership::lifeline_opened(Rank rank, TimePoint now) {
  change(rank, [now](Member& member) { member.heard = now; });
  quiet_until_ = {};
}

void Membership::heartbeat(Rank rank, Pulse pulse, TimePoint now) {
  if (!member(rank).heard) {
    lifeline_opened(rank, now);
  }
  at(rank).heard = now;
  at(rank).pulse = pulse;
  if (pulse == Pulse::kBegins && at(rank).state == WorkerState::kJoined) {
    loads(now);  // a slow file system is not a dead worker
  }
}

bool Membership::lifeline_closed(Rank rank, TimePoint now) {
  Member& member = at(rank);
  if (!takes_part(member)) {
    return false;
  }
  member.closed = now;
  quiet_until_ = {};
  return true;
}

void Membership::forgive(std::chrono::steady_clock::duration gap, TimePoint now) {
  start_ = std::min(start_ + gap, now);
  for (Member& member : members_) {
    if (member.heard) {
      member.heard = std::min(*member.heard + gap, now);
    }
    if (member.closed) {
      member.closed = std::min(*member.closed + gap, now);
    }
  }
}

std::optional<Fault> Membership::check_start(TimePoint now) const {
  if (all_ready() || now - start_ < limits_.start) {
    return std::nullopt;
  }
  constexpr int kNamed = 8;  // longer lists are unreadable
  std::string late;
  Rank first;
  int count = 0;
  for (const Member& member : members_) {
    if (is_settled(member)) {
      continue;
    }
    first = first == Rank() ? member.rank : first;
    if (++count > kNamed) {
      continue;
    }
    late += fmt::format("{}{} {}", late.empty() ? "" : ", ", describe(member.rank),
                        member.state == WorkerState::kExpected ? "never reported" : "is not ready");
  }
  if (count > kNamed) {
    late += fmt::format(" and {} more", count - kNamed);
  }
  return Fault{ExitCode::kWorkerLost, first,
               fmt::format("{} after {:.0f} s without a sign that a worker gets on: see its log in "
                           "the run directory",
                           late, seconds(limits_.start))};
}

std::string Membership::how_it_closed(const Member& member) {
  if (member.is_cut_off) {
    return "is cut off: its host is down, or does not answer";
  }
  return member.signal ? "died of " + report::signal_name(*member.signal)
                       : "was killed (SIGKILL, perhaps for want of memory)";
}

std::optional<Fault> Membership::check(TimePoint now) {
  if (now < quiet_until_) {
    return check_start(now);
  }
  TimePoint quiet_until = TimePoint::max();
  for (const Member& member : members_) {
    if (!takes_part(member)) {
      continue;
    }
    if (member.closed || member.heard) {
      quiet_until = std::min(quiet_until, member.closed ? *member.closed + limits_.closing
                                                        : *member.heard + limits_.heartbeat);
    }
    if (member.closed && now - *member.closed >= limits_.closing) {
      return Fault{ExitCode::kWorkerLost, member.rank,
                   fmt::format("{} {}", describe(member.rank), how_it_closed(member))};
    }
    if (member.heard && !member.closed && now - *member.heard >= limits_.heartbeat) {
      return Fault{
          ExitCode::kWorkerLost, member.rank,
          fmt::format(
              "{} sent no heartbeat for {:.0f} s: its process is stopped or its host cut off",
              describe(member.rank), seconds(now - *member.heard))};
    }
  }
  quiet_until_ = quiet_until;
  return check_start(now);
}

void Membership::lose(Rank rank) {
  change(rank, [](Member& member) { member.state = WorkerState::kLost; });
  ++epoch_;
}

std::vector<Rank> Membership::ranks() const {
  std::vector<Rank> all(members_.size());
  std::ranges::transform(members_, all.begin(), &Member::rank);
  return all;
}

std::vector<ArithmeticOfRank> Membership::arithmetics() const {
  std::vector<ArithmeticOfRank> all;
  for (const Member& member : members_) {
    all.push_back({.rank = member.rank, .host = member.host, .arithmetic = member.arithmetic});
  }
  return all;
}

}  // namespace gangway::coordinator
