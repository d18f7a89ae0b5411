// SPDX-License-Identifier: MIT
// Of the tasks of a job's steps, the updates, and what has to come before them: all that adds to
// the gradients, in the order of the sums, and all that looks at the old weights. Helper of
// tasks.cpp.
#pragma once

#include <utility>
#include <vector>

#include "pipeline/layout/layout.hpp"
#include "pipeline/staged/task.hpp"

namespace gangway::pipeline {

/// Tasks as they come, and what waits for what: first of a pair is the one that waits.
struct TaskLists {
  std::vector<Task> tasks;
  std::vector<std::pair<int, Dependency>> edges;

  /// Adds `task` behind `before`, in order alone. Returns its index.
  int add(const Task& task, const std::vector<int>& before);
};

inline constexpr int kNoTask = -1;

class UpdateTasks {
 public:
  UpdateTasks(const Layout& layout, const WorkOptions& options, TaskLists& lists);

  /// Task `index` looks at its chunk's weights, or adds to its gradients.
  void note_use(int index);
  /// The task behind which the chunk's weights are as its next use is to see them; kNoTask: those
  /// that the first step begins with.
  [[nodiscard]] int updated(NetworkId network, int chunk) const {
    return updated_[network][static_cast<std::size_t>(chunk)];
  }
  /// The update of `network` that ends the repeat of `like`, which says all but operation and
  /// place.
  void add(NetworkId network, const Task& like);

 private:
  [[nodiscard]] std::vector<int>& uses_of(NetworkId network, int chunk, int replica);
  int add_reduce(NetworkId network, int replica, Task task);
  void order_leaves(const std::vector<std::vector<int>>& leaves, int max_open);

  const Layout& layout_;
  const WorkOptions& options_;
  TaskLists& lists_;
  PerNetwork<std::vector<int>> replica_of_;  // by micro-batch
  /// By chunk and replica, since the last update.
  PerNetwork<std::vector<std::vector<int>>> uses_;
  PerNetwork<std::vector<int>> updated_;  // by chunk
};

}  // namespace gangway::pipeline
