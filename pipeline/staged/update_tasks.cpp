// SPDX-License-Identifier: MIT
#include "pipeline/staged/update_tasks.hpp"

namespace gangway::pipeline {

int TaskLists::add(const Task& task, const std::vector<int>& before) {
  const int index = static_cast<int>(tasks.size());
  tasks.push_back(task);
  for (const int one : before) {
    edges.emplace_back(index, Dependency{one, false});
  }
  return index;
}

UpdateTasks::UpdateTasks(const Layout& layout, const WorkOptions& options, TaskLists& lists)
    : layout_(layout), options_(options), lists_(lists) {
  for (const NetworkLayout& network : layout.networks) {
    uses_.add(std::vector<std::vector<int>>(network.chunks.size() * network.replicas.size()));
    updated_.add(std::vector<int>(network.chunks.size(), kNoTask));
    std::vector<int> replicas;
    for (int microbatch = 0; microbatch < layout.num_microbatches; ++microbatch) {
      replicas.push_back(network.replica_of(microbatch));
    }
    replica_of_.add(std::move(replicas));
  }
}

std::vector<int>& UpdateTasks::uses_of(NetworkId network, int chunk, int replica) {
  const std::size_t num_replicas = layout_.networks[network].replicas.size();
  return uses_[network]
              [static_cast<std::size_t>(chunk) * num_replicas + static_cast<std::size_t>(replica)];
}

void UpdateTasks::note_use(int index) {
  const StageInstruction& what = lists_.tasks[static_cast<std::size_t>(index)].what;
  uses_of(what.network, what.chunk,
          replica_of_[what.network][static_cast<std::size_t>(what.microbatch)])
      .push_back(index);
}

void UpdateTasks::add(NetworkId network, const Task& like) {
  const NetworkLayout& layout = layout_.networks[network];
  Task task = like;
  task.what.operation = StageOperation::kReduce;
  task.what.network = network;
  for (task.what.chunk = 0; task.what.chunk < layout.num_chunks(); ++task.what.chunk) {
    std::vector<int> reduces;
    for (int replica = 0; replica < static_cast<int>(layout.replicas.size()); ++replica) {
      reduces.push_back(add_reduce(network, replica, task));
    }
    int& updated = updated_[network][static_cast<std::size_t>(task.what.chunk)] = reduces.front();
    if (reduces.size() > 1) {
      Task everywhere = task;
      everywhere.what.operation = StageOperation::kAwait;
      everywhere.what.version = task.what.version + 1;
      everywhere.worker = kEverybody;
      updated = lists_.add(everywhere, reduces);
    }
  }
}

int UpdateTasks::add_reduce(NetworkId network, int replica, Task task) {
  const Replica& of = layout_.networks[network].replicas[static_cast<std::size_t>(replica)];
  std::vector<int>& uses = uses_of(network, task.what.chunk, replica);
  std::vector<std::vector<int>> leaves(static_cast<std::size_t>(of.microbatches.size()));
  bool has_penalty = false;
  for (const int use : uses) {
    const StageInstruction& before = lists_.tasks[static_cast<std::size_t>(use)].what;
    if (adds_to_leaf(before.operation)) {
      leaves[static_cast<std::size_t>(before.microbatch - of.microbatches.begin)].push_back(use);
      has_penalty = has_penalty || before.operation == StageOperation::kFourthSweep;
    }
  }
  order_leaves(leaves, has_penalty ? options_.max_penalty_leaves : options_.max_open_leaves);
  task.worker = of.workers[static_cast<std::size_t>(task.what.chunk)];
  const int index = lists_.add(task, uses);
  uses.clear();
  return index;
}

/// Lets the sums of leaves begin no earlier, and come in no other order, than they may.
/// @param leaves  by micro-batch of a replica, what is added, in the order of passes
/// @param max_open  of them; 0: any number
void UpdateTasks::order_leaves(const std::vector<std::vector<int>>& leaves, int max_open) {
  const auto wait = [this](int later, int earlier) {
    lists_.edges.emplace_back(later, Dependency{earlier, false});
  };
  const auto window = static_cast<std::size_t>(max_open);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (std::size_t i = 1; leaves[leaf].size() > kMostThatCommute && i < leaves[leaf].size();
         ++i) {
      wait(leaves[leaf][i], leaves[leaf][i - 1]);
    }
    // Those before it by the window or more are closed: these, and what these have waited for.
    for (std::size_t by = window; window > 0 && by < 2 * window && by <= leaf; ++by) {
      for (const int later : leaves[leaf]) {
        for (const int earlier : leaves[leaf - by]) {
          wait(later, earlier);
        }
      }
    }
  }
}

}  // namespace gangway::pipeline
