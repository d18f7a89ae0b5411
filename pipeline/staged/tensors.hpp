// SPDX-License-Identifier: MIT
// Which workers take what each task makes, how often, and of what size it is on its way: what
// messages follow from, and when a tensor is let go of. For lowering and validator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/tasks.hpp"

namespace gangway::pipeline {

/// A tensor on a worker that takes it.
struct Taken {
  int maker = 0;           ///< the task that makes it
  int worker = 0;          ///< that takes it; the maker's own, too
  int uses = 0;            ///< tasks there that do
  std::int64_t bytes = 0;  ///< of the message; 0: it is made there
};

class Tensors {
 public:
  /// @param costs  whose output_bytes count
  Tensors(const TaskGraph& graph, const Costs& costs);

  /// Of what task `maker` makes, by worker.
  [[nodiscard]] std::span<const Taken> of(int maker) const {
    const auto at = static_cast<std::size_t>(maker);
    return std::span(taken_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  /// Where it is among all(), which has those of a task next to one another; null: `worker` does
  /// not take it.
  [[nodiscard]] const Taken* find(int maker, int worker) const;
  [[nodiscard]] std::span<const Taken> all() const { return taken_; }
  [[nodiscard]] std::size_t index_of(const Taken& one) const {
    return static_cast<std::size_t>(&one - taken_.data());
  }

 private:
  std::vector<Taken> taken_;
  std::vector<std::size_t> first_;
};

}  // namespace gangway::pipeline
