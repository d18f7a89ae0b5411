// SPDX-License-Identifier: MIT
#include "coordinator/core/checkpoint_ledger.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::coordinator {

void CheckpointLedger::begin(std::int64_t step, std::int64_t epoch) {
  open_[step] = Open{.epoch = epoch};
}

double CompleteCheckpoint::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const auto& part) {
    return sum + static_cast<double>(part.bytes);
  });
}

double CompleteCheckpoint::seconds() const {
  return std::ranges::max(parts, {}, &messages::CheckpointPart::seconds).seconds;
}

std::optional<CompleteCheckpoint> CheckpointLedger::add(WorkerIndex worker, std::int64_t epoch,
                                                        messages::CheckpointPart part) {
  const std::int64_t step = part.step;
  const auto found = open_.find(step);
  if (found == open_.end() || found->second.epoch != epoch || found->second.is_complete ||
      std::cmp_greater_equal(worker.place(), num_workers_)) {
    return std::nullopt;
  }
  auto& parts = found->second.parts;
  parts.insert_or_assign(worker, std::move(part));
  if (static_cast<int>(parts.size()) < num_workers_) {
    return std::nullopt;
  }
  CompleteCheckpoint complete{.step = step, .parts = {}, .error = {}};
  for (auto& [index, one] : parts) {
    if (complete.error.empty()) {
      complete.error = one.error;
    }
    complete.parts.push_back(std::move(one));
  }
  parts.clear();
  found->second.is_complete = true;
  return complete;
}

bool CheckpointLedger::is_open_before(std::int64_t end) const {
  return !open_.empty() && open_.begin()->first < end;
}

bool CheckpointLedger::owes(WorkerIndex worker, std::int64_t end) const {
  return std::ranges::any_of(open_, [&](const auto& entry) {
    return entry.first < end && !entry.second.is_complete && !entry.second.parts.contains(worker);
  });
}

bool CheckpointLedger::is_committing() const {
  return std::ranges::any_of(open_, [](const auto& entry) { return entry.second.is_complete; });
}

std::string CheckpointLedger::missing(const Open& open) const {
  if (open.is_complete) {
    return "its manifest";
  }
  for (WorkerIndex worker; worker.value() < num_workers_; ++worker) {
    if (!open.parts.contains(worker)) {
      return fmt::format("the file of rank {}", rank_of(worker));
    }
  }
  throw InvariantError("a checkpoint has all of its files and is not complete");
}

std::optional<std::string> CheckpointLedger::overdue(TimePoint now, std::int64_t slowest_done,
                                                     std::chrono::milliseconds patience) {
  for (auto& [step, open] : open_) {
    if (!open.since && slowest_done >= step) {
      open.since = now;
    }
    const auto taken = open.since ? now - *open.since : TimePoint::duration::zero();
    if (taken < std::max(patience, 2 * open.told)) {
      continue;
    }
    open.told = std::chrono::duration_cast<std::chrono::milliseconds>(taken);
    return fmt::format(
        "ALARM checkpoint of step {} has waited {:.0f} s for {}: the disk is slow or hangs; "
        "training goes on, the newest on disk is {}",
        step, std::chrono::duration<double>(taken).count(), missing(open),
        last_committed_ ? fmt::format("of step {}", *last_committed_) : "from before this start");
  }
  return std::nullopt;
}

void CheckpointLedger::committed(std::int64_t step) {
  open_.erase(step);
  failures_in_a_row_ = 0;
  error_.clear();
  if (step > last_committed_.value_or(-1)) {
    last_committed_ = step;
  }
}

std::string CheckpointLedger::failed(std::int64_t step, const std::string& reason) {
  open_.erase(step);
  error_ = reason;
  ++failures_;
  ++failures_in_a_row_;
  if (failures_in_a_row_ < kLoudFailures) {
    return fmt::format("warn  checkpoint of step {} failed ({} so far), tried again soon: {}", step,
                       failures_, reason);
  }
  return fmt::format(
      "ALARM {} checkpoints in a row could not be saved; what was trained since {} is lost if the "
      "run dies: {}",
      failures_in_a_row_,
      last_committed_ ? fmt::format("step {}", *last_committed_) : "the start of this run", reason);
}

}  // namespace gangway::coordinator
