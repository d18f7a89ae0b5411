// SPDX-License-Identifier: MIT
#include "coordinator/resume/resume_protocol.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gangway::coordinator {

bool ResumeProtocol::add(WorkerIndex worker, const messages::Inventory& inventory) {
  for (const messages::SnapshotPart& part : inventory.parts) {
    inventory_.add(worker, part.of, part.worker);
  }
  return reporters_.insert(worker).second && static_cast<int>(reporters_.size()) == num_workers_;
}

messages::Begin ResumeProtocol::propose(const ResumePoint& point) {
  proposed_.resize(static_cast<std::size_t>(++attempt_) + 1);
  if (point.snapshot) {
    proposed_.back() = point.snapshot->id;
  }
  return {.attempt = attempt_,
          .step = point.step,
          .checkpoint = point.checkpoint,
          .snapshot = point.snapshot,
          .keeps_newer = point.keeps_newer};
}

bool ResumeProtocol::refuse(const messages::Unloadable& unloadable,
                            const std::vector<WorkerIndex>& mates) {
  if (unloadable.attempt < 1 || unloadable.attempt > attempt_) {
    return false;
  }
  const auto& id = proposed_[static_cast<std::size_t>(unloadable.attempt)];
  if (id && unloadable.part) {
    for (const WorkerIndex mate : mates) {
      inventory_.remove(mate, *id, *unloadable.part);
    }
  }
  return unloadable.attempt == attempt_;
}

std::optional<std::string> ResumeProtocol::loading(WorkerIndex worker,
                                                   const messages::Loading& loading,
                                                   TimePoint now) {
  constexpr std::chrono::seconds kBetweenLines{2};
  loading_[worker] = loading;
  if (!loading_since_) {
    loading_since_ = last_line_at_ = now;
  }
  if (now - last_line_at_ < kBetweenLines) {
    return std::nullopt;
  }
  last_line_at_ = now;
  double bytes = 0.0;
  double total = 0.0;
  for (const auto& [index, entry] : loading_) {
    bytes += static_cast<double>(entry.bytes);
    total += static_cast<double>(entry.total);
  }
  constexpr double kGigabyte = 1e9;
  return fmt::format("load   {:.0f} % of {:.1f} GB", 100.0 * bytes / std::max(total, 1.0),
                     total / kGigabyte);
}

}  // namespace gangway::coordinator
