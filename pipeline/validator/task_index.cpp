// SPDX-License-Identifier: MIT
#include "pipeline/validator/task_index.hpp"

#include <algorithm>

namespace gangway::pipeline {
namespace {

UpdateTask update_task(const TaskGraph& graph, int task) {
  UpdateTask update{.task = task};
  std::vector<int> microbatches;
  for (const Dependency& one : graph.dependencies(task)) {
    const StageInstruction& what = graph.task(one.task).what;
    if (adds_to_leaf(what.operation)) {
      microbatches.push_back(what.microbatch);
    }
  }
  if (!microbatches.empty()) {
    const auto [least, most] = std::ranges::minmax(microbatches);
    update.first_microbatch = least;
    update.adds.resize(static_cast<std::size_t>(most - least + 1));
  }
  for (const int microbatch : microbatches) {
    ++update.adds[static_cast<std::size_t>(microbatch - update.first_microbatch)];
  }
  update.num_adds = static_cast<int>(microbatches.size());
  return update;
}

}  // namespace

TaskIndex::TaskIndex(const TaskGraph& graph) : update_of_(static_cast<std::size_t>(graph.size())) {
  for (int index = 0; index < graph.size(); ++index) {
    const Task& task = graph.task(index);
    const StageInstruction& what = task.what;
    if (computes(what.operation)) {
      tasks_.emplace(place_of(what, what.operation), index);
    }
    if (computes(what.operation) || what.operation == StageOperation::kReduce) {
      const auto version = first_versions_.try_emplace(what.network, what.version).first;
      version->second = std::min(version->second, what.version);
    }
    if (what.operation != StageOperation::kReduce) {
      continue;
    }
    ++members_[{what.network, what.chunk, what.version}];
    update_at_.emplace(update_place_of(what, task.worker), updates_.size());
    for (const Dependency& one : graph.dependencies(index)) {
      if (adds_to_leaf(graph.task(one.task).what.operation)) {
        update_of_[static_cast<std::size_t>(one.task)] = updates_.size();
      }
    }
    updates_.push_back(update_task(graph, index));
  }
}

std::optional<int> TaskIndex::task(const StageInstruction& what, StageOperation operation) const {
  const auto found = tasks_.find(place_of(what, operation));
  return found == tasks_.end() ? std::nullopt : std::optional(found->second);
}

const UpdateTask* TaskIndex::update(const StageInstruction& what, int worker) const {
  const auto found = update_at_.find(update_place_of(what, worker));
  return found == update_at_.end() ? nullptr : &updates_[found->second];
}

const UpdateTask* TaskIndex::update_of(int index) const {
  const std::optional<std::size_t> update = update_of_[static_cast<std::size_t>(index)];
  return update ? &updates_[*update] : nullptr;
}

int TaskIndex::num_members(const StageInstruction& what) const {
  const auto found = members_.find({what.network, what.chunk, what.version});
  return found == members_.end() ? 0 : found->second;
}

int TaskIndex::first_version(NetworkId network) const {
  const auto found = first_versions_.find(network);
  return found == first_versions_.end() ? 0 : found->second;
}

}  // namespace gangway::pipeline
