// SPDX-License-Identifier: MIT
#include "pipeline/staged/tensors.hpp"

#include <algorithm>
#include <compare>

namespace gangway::pipeline {
namespace {

/// One task that takes a tensor.
struct Use {
  int maker = 0;
  int worker = 0;
  int node = 0;  ///< the taker's
  int taker = 0;
  auto operator<=>(const Use&) const = default;
};

std::vector<Use> uses_in(const TaskGraph& graph) {
  std::vector<Use> uses;
  for (int taker = 0; taker < graph.size(); ++taker) {
    for (const Dependency& one : graph.dependencies(taker)) {
      if (one.carries) {
        const Task& task = graph.task(taker);
        uses.push_back({one.task, task.worker, task.what.node, taker});
      }
    }
  }
  std::ranges::sort(uses);
  return uses;
}

/// A gradient is of what its taker's chunk has made, anything else is what its maker has made.
bool is_gradient(StageOperation operation) {
  return operation == StageOperation::kBackward || operation == StageOperation::kInputGradient ||
         operation == StageOperation::kSecondSweep || operation == StageOperation::kFourthSweep;
}

}  // namespace

Tensors::Tensors(const TaskGraph& graph, const Costs& costs)
    : first_(static_cast<std::size_t>(graph.size()) + 1, 0) {
  const auto output_of = [&costs](const StageInstruction& what) {
    return costs.chunks[what.network][static_cast<std::size_t>(what.chunk)].output_bytes;
  };
  int node = 0;
  for (const Use& use : uses_in(graph)) {
    const Task& maker = graph.task(use.maker);
    const bool is_new =
        taken_.empty() || taken_.back().maker != use.maker || taken_.back().worker != use.worker;
    if (is_new) {
      taken_.push_back({.maker = use.maker, .worker = use.worker});
      ++first_[static_cast<std::size_t>(use.maker) + 1];
    }
    Taken& taken = taken_.back();
    ++taken.uses;
    if (maker.worker != use.worker && is_gradient(maker.what.operation)) {
      taken.bytes += is_new || use.node != node ? output_of(graph.task(use.taker).what) : 0;
    } else if (maker.worker != use.worker) {
      taken.bytes = output_of(maker.what);
    }
    node = use.node;
  }
  for (std::size_t task = 1; task < first_.size(); ++task) {
    first_[task] += first_[task - 1];
  }
}

const Taken* Tensors::find(int maker, int worker) const {
  for (const Taken& one : of(maker)) {
    if (one.worker == worker) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace gangway::pipeline
