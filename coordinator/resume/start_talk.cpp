// SPDX-License-Identifier: MIT
#include "coordinator/resume/start_talk.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gangway::coordinator {

bool StartTalk::add(int worker, const messages::Inventory& inventory) {
  for (const messages::SnapshotPart& part : inventory.parts()) {
    inventory_.add(worker,
                   {.step = part.step(),
                    .incarnation = part.incarnation(),
                    .taken_in = part.taken_in(),
                    .num_workers = part.num_workers()},
                   part.worker());
  }
  return told_.insert(worker).second && static_cast<int>(told_.size()) == num_workers_;
}

messages::Begin StartTalk::propose(const Beginning& beginning, std::int64_t epoch) {
  messages::Begin begin;
  begin.set_epoch(epoch);
  begin.set_attempt(++attempt_);
  begin.set_step(beginning.step);
  begin.set_checkpoint(beginning.checkpoint);
  proposed_.resize(static_cast<std::size_t>(attempt_) + 1);
  if (beginning.snapshot) {
    proposed_.back() = beginning.snapshot->name;
    messages::Snapshot& snapshot = *begin.mutable_snapshot();
    snapshot.set_incarnation(beginning.snapshot->name.incarnation);
    snapshot.set_taken_in(beginning.snapshot->name.taken_in);
    for (const std::set<int>& holders : beginning.snapshot->holders) {
      snapshot.add_parts()->mutable_workers()->Assign(holders.begin(), holders.end());
    }
  }
  return begin;
}

bool StartTalk::refuse(const messages::Unloadable& unloadable, const std::vector<int>& mates) {
  if (unloadable.attempt() < 1 || unloadable.attempt() > attempt_) {
    return false;
  }
  const auto& name = proposed_[static_cast<std::size_t>(unloadable.attempt())];
  if (name && unloadable.part() >= 0) {
    for (const int mate : mates) {
      inventory_.remove(mate, *name, unloadable.part());
    }
  }
  return unloadable.attempt() == attempt_;
}

std::optional<std::string> StartTalk::loading(int worker, const messages::Loading& loading,
                                              TimePoint now) {
  constexpr std::chrono::seconds kBetweenLines{2};
  loading_[worker] = loading;
  if (!loading_since_) {
    loading_since_ = told_loading_ = now;
  }
  if (now - told_loading_ < kBetweenLines) {
    return std::nullopt;
  }
  told_loading_ = now;
  double bytes = 0.0;
  double total = 0.0;
  for (const auto& [index, entry] : loading_) {
    bytes += static_cast<double>(entry.bytes());
    total += static_cast<double>(entry.total());
  }
  constexpr double kGigabyte = 1e9;
  return fmt::format("load   {:.0f} % of {:.1f} GB", 100.0 * bytes / std::max(total, 1.0),
                     total / kGigabyte);
}

}  // namespace gangway::coordinator
