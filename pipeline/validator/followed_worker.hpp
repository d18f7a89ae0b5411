// SPDX-License-Identifier: MIT
// One worker as the validator follows its list: what it has done and holds, and what may come next.
// Everything that concerns other workers is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/tasks.hpp"
#include "pipeline/staged/tensors.hpp"
#include "pipeline/validator/task_index.hpp"

namespace gangway::pipeline {

/// What a worker may hold at once. 0: any number.
struct HoldingLimits {
  int max_stored = 0;  ///< forwards of a chunk and a micro-batch that are kept for their backward
  int max_open_leaves = 0;     ///< of a chunk
  std::int64_t max_bytes = 0;  ///< kept forwards, open leaves, tensors received
};

/// What is wrong with an instruction; empty: nothing.
using Problem = std::string;

class FollowedWorker {
 public:
  struct Setup {
    const TaskGraph& graph;
    const Tensors& tensors;
    const TaskIndex& index;
    const Costs& costs;
    const HoldingLimits& limits;
    const PerNetwork<std::string>& names;
  };
  FollowedWorker(const Setup& setup, int number) : setup_(setup), number_(number) {}

  [[nodiscard]] Problem compute(const StageInstruction& what);
  /// Whether `what` says of its leaf what `update` is.
  [[nodiscard]] Problem check_leaf_of(const UpdateTask& update, const StageInstruction& what) const;
  [[nodiscard]] Problem open_leaf(const StageInstruction& what);
  [[nodiscard]] Problem close_leaf(const StageInstruction& what);
  [[nodiscard]] Problem arm(const StageInstruction& what);
  /// All that comes before an exchange is there, and it begins.
  [[nodiscard]] Problem reduce(const StageInstruction& what);
  /// Whether the exchange that `what` is to wait for has begun here.
  [[nodiscard]] Problem check_await(const StageInstruction& what) const;
  void await(const StageInstruction& what);
  [[nodiscard]] Problem send(const StageInstruction& what);
  [[nodiscard]] Problem receive(const StageInstruction& what);
  [[nodiscard]] Problem let_go(const StageInstruction& what);

  /// What was not done, not let go of, or not awaited at the end. Empty: nothing.
  [[nodiscard]] Problem check_end() const;
  [[nodiscard]] bool has_done(int task) const;

 private:
  using ChunkPlace = std::pair<NetworkId, int>;
  /// A tensor that is here.
  struct Held {
    int uses_left = 0;
    int sends_left = 0;
    bool is_gone = false;
    std::int64_t bytes = 0;  ///< of what was received
  };
  /// Of the update at hand of a chunk.
  struct Leaves {
    std::vector<int> missing;  ///< by micro-batch: how often its leaf is still to be added to
    std::vector<bool> is_open;
    std::size_t num_closed = 0;
    int num_missing = 0;
    bool is_armed = false;
  };
  struct Weights {
    int version = 0;
    bool under_way = false;
    StageInstruction reduce;  ///< that is
  };

  [[nodiscard]] Weights& weights(NetworkId network, int chunk);
  [[nodiscard]] Leaves& leaves(const UpdateTask& update);
  [[nodiscard]] Problem check_weights(const StageInstruction& what);
  [[nodiscard]] Problem check_dependencies(int task) const;
  [[nodiscard]] Problem add_to_leaf(int task);
  [[nodiscard]] Problem take(const StageInstruction& what, int task);
  [[nodiscard]] Problem check_holding() const;
  [[nodiscard]] std::string describe(int task) const;
  [[nodiscard]] const WorkCosts& costs_of(const StageInstruction& what) const {
    return setup_.costs.chunks[what.network][static_cast<std::size_t>(what.chunk)];
  }

  Setup setup_;
  int number_;
  std::map<int, bool> done_;      // tasks
  std::map<int, Held> held_;      // by the task that made it
  std::map<int, Leaves> leaves_;  // by update
  std::map<ChunkPlace, Weights> weights_;
  std::map<ChunkPlace, int> open_;  // leaves
  int armed_for_ = kEverybody;      // update whose last work is to follow at once
  int stored_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace gangway::pipeline
