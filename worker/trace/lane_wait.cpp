// SPDX-License-Identifier: MIT
#include "worker/trace/lane_wait.hpp"

#include <algorithm>
#include <numeric>

namespace gangway::worker {

void LaneWait::share_out() const {
  using messages::StepPart;
  TimeLedger* const ledger = TimeLedger::of_this_thread();
  if (ledger == nullptr) {
    return;
  }
  TimeLedger::Nanoseconds lane = lane_.ledger().read();
  for (std::size_t part = 0; part < lane.size(); ++part) {
    lane[part] = std::max<std::int64_t>(0, lane[part] - before_[part]);
  }
  const auto all = static_cast<double>(std::accumulate(lane.begin(), lane.end(), std::int64_t{0}));
  const auto waited = static_cast<double>((TimeLedger::Clock::now() - begin_).count());
  const auto give = [&](comm::LanePart from, StepPart to) {
    const auto share =
        static_cast<double>(lane[static_cast<std::size_t>(from)]) / std::max(1.0, all);
    ledger->move(messages::index_of(StepPart::kExchange), messages::index_of(to),
                 static_cast<std::int64_t>(waited * share));
  };
  give(comm::LanePart::kUpdate, StepPart::kOptimizer);
  give(comm::LanePart::kWorkers, StepPart::kWorkers);
  give(comm::LanePart::kMessages, StepPart::kMessages);
}

}  // namespace gangway::worker
