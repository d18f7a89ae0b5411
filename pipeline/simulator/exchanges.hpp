// SPDX-License-Identifier: MIT
// The simulator's lanes: exchanges of chunks' gradients and weights between all that have them,
// bucket by bucket beside compute, one after another on each worker.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

/// The last work on a chunk's leaves: its gradients become complete while it goes on.
struct ArmedWork {
  double begin = 0.0;
  double seconds = 0.0;
};

class Exchanges {
 public:
  Exchanges(const StageSchedule& schedule, const Costs& costs);

  /// `worker` reduces at `now`. @param armed  nothing: all gradients are complete at `now`
  /// Returns the workers that waited for an exchange that has ended by it.
  [[nodiscard]] std::vector<int> reduce(int worker, const StageInstruction& what, double now,
                                        const std::optional<ArmedWork>& armed);
  /// When the update that `await` is of is everywhere; nothing: not known yet, and `worker` is to
  /// wait.
  [[nodiscard]] std::optional<double> end_of(int worker, const StageInstruction& await);
  [[nodiscard]] double lane_seconds(int worker) const {
    return lanes_[static_cast<std::size_t>(worker)].seconds;
  }
  /// By step, from the first on, when its last update was everywhere.
  [[nodiscard]] std::vector<double> step_ends(int first_step) const;

 private:
  using Key = std::tuple<NetworkId, int, int>;  // chunk, and version before
  struct Exchange {
    NetworkId network{};
    int chunk = 0;
    int step = 0;
    int num_members = 0;
    std::vector<int> members;   // that have come to it
    std::vector<double> ready;  // by bucket, when the last of them had it
    double complete = 0.0;      // when the last of them had all
    std::optional<double> ended;
    std::vector<int> waiting;
  };
  struct Lane {
    std::deque<int> queue;  // exchanges begun and not ended
    double free_at = 0.0;
    double seconds = 0.0;
  };

  [[nodiscard]] std::span<const BucketCosts> buckets_of(const Exchange& exchange) const;
  [[nodiscard]] bool can_end(int index) const;
  void end(Exchange& exchange);

  const Costs& costs_;
  std::vector<Exchange> exchanges_;
  std::map<Key, int> index_of_;
  std::vector<Lane> lanes_;
};

}  // namespace gangway::pipeline
