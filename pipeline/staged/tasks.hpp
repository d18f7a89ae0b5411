// SPDX-License-Identifier: MIT
// All that some steps of a job have to compute on a layout, and what waits for what: the meaning
// that every schedule has to keep. Generators put it in an order, the validator looks up in it. No
// third party.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pipeline/layout/layout.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/staged/task.hpp"

namespace gangway::pipeline {

class TaskGraph {
 public:
  /// The tasks of steps [first_step, first_step + num_steps), in the order of phases, passes and
  /// micro-batches. @param phases  completed @pre check(layout)
  TaskGraph(const std::vector<Phase>& phases, const Layout& layout, int first_step, int num_steps,
            const WorkOptions& options);

  [[nodiscard]] int size() const { return static_cast<int>(tasks_.size()); }
  [[nodiscard]] const Task& task(int index) const {
    return tasks_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::span<const Dependency> dependencies(int index) const {
    const auto at = static_cast<std::size_t>(index);
    return std::span(dependencies_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  [[nodiscard]] int num_workers() const { return num_workers_; }

 private:
  std::vector<Task> tasks_;
  std::vector<Dependency> dependencies_;  // of all tasks, one after another
  std::vector<std::size_t> first_;        // of each task's, and the end
  int num_workers_ = 0;
};

}  // namespace gangway::pipeline
