// SPDX-License-Identifier: MIT
// Finds the task that an instruction of a list is about. Helper of the validator.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "pipeline/staged/tasks.hpp"

namespace gangway::pipeline {

/// The update that ends a repeat of a phase, on one worker: what its leaves are summed for.
struct UpdateTask {
  int task = 0;
  int first_microbatch = 0;
  std::vector<int> adds;  ///< by micro-batch, how often its leaf is added to
  int num_adds = 0;
};

class TaskIndex {
 public:
  explicit TaskIndex(const TaskGraph& graph);

  /// The task with `operation` and the place of `what`. Nothing: there is none.
  [[nodiscard]] std::optional<int> task(const StageInstruction& what,
                                        StageOperation operation) const;
  /// The update by `worker` of the chunk in the repeat that `what` names. Null: there is none.
  [[nodiscard]] const UpdateTask* update(const StageInstruction& what, int worker) const;
  /// The update that task `index` adds to. Null: it adds to none.
  [[nodiscard]] const UpdateTask* update_of(int index) const;
  /// How many workers update the chunk of `what` at its version.
  [[nodiscard]] int num_members(const StageInstruction& what) const;
  /// What the steps begin with.
  [[nodiscard]] int first_version(NetworkId network) const;

 private:
  using Place = std::tuple<StageOperation, NetworkId, int, int, int, int, int, int, int>;
  using UpdatePlace = std::tuple<NetworkId, int, int, int, int, int>;
  [[nodiscard]] static Place place_of(const StageInstruction& what, StageOperation operation) {
    return {operation,   what.network, what.chunk, what.step,      what.phase,
            what.repeat, what.pass,    what.node,  what.microbatch};
  }
  [[nodiscard]] static UpdatePlace update_place_of(const StageInstruction& what, int worker) {
    return {what.network, what.chunk, what.step, what.phase, what.repeat, worker};
  }

  std::map<Place, int> tasks_;
  std::vector<UpdateTask> updates_;
  std::map<UpdatePlace, std::size_t> update_at_;
  std::vector<std::optional<std::size_t>> update_of_;       // by task
  std::map<std::tuple<NetworkId, int, int>, int> members_;  // of chunk and version
  std::map<NetworkId, int> first_versions_;
};

}  // namespace gangway::pipeline
