// SPDX-License-Identifier: MIT
#include "coordinator/checkpoint_ledger.hpp"

#include <utility>

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

void CheckpointLedger::failed(std::int64_t step) {
  open_.erase(step);
  ++failures_;
  ++failures_in_a_row_;
}

}  // namespace gangway::coordinator
