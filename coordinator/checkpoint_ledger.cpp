// SPDX-License-Identifier: MIT
#include "coordinator/checkpoint_ledger.hpp"

#include <utility>

#include <fmt/format.h>

namespace gangway::coordinator {

void CheckpointLedger::begin(std::int64_t step, std::int64_t epoch) {
  open_[step] = Open{.epoch = epoch, .files = {}};
}

std::optional<CompleteCheckpoint> CheckpointLedger::add(std::int64_t step, std::int64_t epoch,
                                                        CheckpointFile file) {
  const auto found = open_.find(step);
  if (found == open_.end() || found->second.epoch != epoch || file.worker < 0 ||
      file.worker >= num_workers_) {
    return std::nullopt;
  }
  const int worker = file.worker;
  auto& files = found->second.files;
  files.insert_or_assign(worker, std::move(file));
  if (static_cast<int>(files.size()) < num_workers_) {
    return std::nullopt;
  }
  CompleteCheckpoint complete{.step = step, .files = {}, .error = {}};
  for (auto& [index, part] : files) {
    if (complete.error.empty()) {
      complete.error = part.error;
    }
    complete.files.push_back(std::move(part));
  }
  files.clear();
  return complete;
}

void CheckpointLedger::committed(std::int64_t step) {
  open_.erase(step);
  failures_in_a_row_ = 0;
  if (step > last_committed_.value_or(-1)) {
    last_committed_ = step;
  }
}

std::string CheckpointLedger::failed(std::int64_t step, const std::string& reason) {
  open_.erase(step);
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
