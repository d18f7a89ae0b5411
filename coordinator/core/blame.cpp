// SPDX-License-Identifier: MIT
#include "coordinator/core/blame.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace gangway::coordinator {
namespace {

// Longer than MembershipLimits::closing, because a death explains more than any complaint.
constexpr std::chrono::milliseconds kPatience{200};
// For a complaint with an accused: within this time every worker has sent a heartbeat.
constexpr std::chrono::milliseconds kHeartbeatPatience = kHeartbeatPeriod + kPatience;
// For a complaint without one. NCCL reports a killed peer at once. Its lifeline closes only when
// the GPU driver has freed its memory (more than 0.4 s on an H100).
constexpr std::chrono::milliseconds kDriverPatience{2'000};

}  // namespace

Rank Blame::only_idle(const Membership& membership, TimePoint now) const {
  Rank idle;
  for (const Member& member : membership.members()) {
    if (of(member.rank) == nullptr && takes_part(member) && !waits(member, now)) {
      if (idle != Rank()) {
        return {};
      }
      idle = member.rank;
    }
  }
  return idle;
}

void Blame::add(const Complaint& complaint, TimePoint now) {
  if (complaints_.empty()) {
    since_ = now;
  }
  places_.emplace(complaint.rank, complaints_.size());
  complaints_.push_back(complaint);
}

void Blame::forgive(std::chrono::steady_clock::duration gap, TimePoint now) {
  since_ = std::min(since_ + gap, now);
}

const Complaint* Blame::of(Rank rank) const {
  const auto found = places_.find(rank);
  return found == places_.end() ? nullptr : &complaints_[found->second];
}

/// If the accusations form a circle, returns the rank that the first complaint accuses.
Rank Blame::end_of_chain() const {
  std::set<Rank> seen;
  Rank rank = complaints_.front().rank;
  for (const Complaint* one = of(rank); one != nullptr && one->accused != Rank(); one = of(rank)) {
    if (!seen.insert(rank).second) {
      return complaints_.front().accused;
    }
    rank = one->accused;
  }
  return rank;
}

std::optional<Fault> Blame::verdict(const Membership& membership, TimePoint now) const {
  if (complaints_.empty()) {
    return std::nullopt;
  }
  const Complaint& first = complaints_.front();
  const auto waited = now - since_;
  if (waited < (first.accused == Rank() ? kDriverPatience : kHeartbeatPatience)) {
    return std::nullopt;
  }
  Rank culprit = end_of_chain();
  const bool is_heard = of(culprit) != nullptr;
  if (first.accused != Rank() && (is_heard || waits(membership.member(culprit), now))) {
    if (const Rank idle = only_idle(membership, now); idle != Rank()) {
      culprit = idle;
    } else if (!is_heard && waited < kBlamePatience) {
      return std::nullopt;  // the culprit waits too and will complain itself
    }
  }
  const std::string words = fmt::format("{}: {}", membership.describe(first.rank), first.reason);
  return Fault{ExitCode::kWorkerLost, culprit,
               culprit == first.rank
                   ? words
                   : fmt::format("{} keeps its peers waiting, though its process lives; {}",
                                 membership.describe(culprit), words)};
}

}  // namespace gangway::coordinator
