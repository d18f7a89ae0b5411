// SPDX-License-Identifier: MIT
#include "pipeline/staged/lowering.hpp"

#include <cstddef>
#include <map>
#include <utility>

#include "pipeline/staged/tensors.hpp"

namespace gangway::pipeline {
namespace {

/// An update's leaves on the worker that has them.
struct Leaves {
  int first = 0;               // micro-batch
  std::vector<int> missing;    // by micro-batch: what is still to be added
  std::vector<bool> is_begun;  // by micro-batch
  std::size_t next = 0;        // to be closed
  int num_missing = 0;         // of all
};

/// The leaves that task `reduce` sums.
Leaves leaves_of(const TaskGraph& graph, int reduce) {
  Leaves leaves;
  int last = -1;
  for (const Dependency& one : graph.dependencies(reduce)) {
    const StageInstruction& what = graph.task(one.task).what;
    if (!adds_to_leaf(what.operation)) {
      continue;
    }
    if (last < 0) {
      leaves.first = last = what.microbatch;
    }
    leaves.first = std::min(leaves.first, what.microbatch);
    last = std::max(last, what.microbatch);
    ++leaves.num_missing;
  }
  leaves.missing.resize(static_cast<std::size_t>(last - leaves.first + 1));
  leaves.is_begun.resize(leaves.missing.size());
  for (const Dependency& one : graph.dependencies(reduce)) {
    const StageInstruction& what = graph.task(one.task).what;
    if (adds_to_leaf(what.operation)) {
      ++leaves.missing[static_cast<std::size_t>(what.microbatch - leaves.first)];
    }
  }
  return leaves;
}

/// Messages from one worker to another, as makers, in the order of sending.
struct SentOrder {
  std::vector<int> makers;
  std::size_t next = 0;  // to be received
};

/// What all lists are written from.
struct ListPlan {
  const TaskGraph& graph;
  Tensors tensors;
  std::vector<int> uses_left;     // by tensors.all()
  std::vector<bool> is_received;  // by tensors.all()
  std::vector<int> update_of;     // by task: the reduction of what it adds; kEverybody: none
  std::vector<std::map<int, SentOrder>> channels;  // by receiver, then sender

  ListPlan(const TaskGraph& of, const TaskOrder& order, const Costs& costs)
      : graph(of),
        tensors(of, costs),
        update_of(static_cast<std::size_t>(of.size()), kEverybody),
        channels(order.size()) {
    for (const Taken& one : tensors.all()) {
      uses_left.push_back(one.uses);
    }
    is_received.resize(uses_left.size());
    for (int task = 0; task < graph.size(); ++task) {
      if (graph.task(task).what.operation == StageOperation::kReduce) {
        for (const Dependency& one : graph.dependencies(task)) {
          if (adds_to_leaf(graph.task(one.task).what.operation)) {
            update_of[static_cast<std::size_t>(one.task)] = task;
          }
        }
      }
    }
    for (const std::vector<int>& list : order) {
      for (const int task : list) {
        for (const Taken& one : tensors.of(task)) {
          if (one.worker != graph.task(task).worker) {
            channels[static_cast<std::size_t>(one.worker)][graph.task(task).worker]
                .makers.push_back(task);
          }
        }
      }
    }
  }
};

class ListWriter {
 public:
  ListWriter(ListPlan& plan, int worker) : plan_(plan), worker_(worker) {}

  void write(int index);
  [[nodiscard]] StageList take() {
    while (!under_way_.empty()) {
      await(under_way_.begin()->second);
    }
    return std::move(list_);
  }

 private:
  using ChunkPlace = std::pair<NetworkId, int>;

  void await_weights(const StageInstruction& what) {
    const auto found = under_way_.find({what.network, what.chunk});
    if (found != under_way_.end()) {
      await(found->second);
    }
  }
  void await(StageInstruction reduce) {
    under_way_.erase({reduce.network, reduce.chunk});
    reduce.operation = StageOperation::kAwait;
    ++reduce.version;
    reduce.is_last = false;
    list_.push_back(reduce);
  }
  void receive_inputs(int index);
  void open_leaf(int index);
  void close_leaves(int index);
  void send(int index);
  void let_go(int index);
  /// `operation` on what task `maker` has made.
  void add_tensor(StageOperation operation, int maker, int peer, std::int64_t bytes);
  void use_up(const Taken& one, int maker);
  [[nodiscard]] Leaves& leaves(int reduce) {
    const auto found = leaves_.find(reduce);
    return found != leaves_.end()
               ? found->second
               : leaves_.emplace(reduce, leaves_of(plan_.graph, reduce)).first->second;
  }

  ListPlan& plan_;
  int worker_;
  StageList list_;
  std::map<ChunkPlace, StageInstruction> under_way_;  // reductions
  std::map<int, Leaves> leaves_;                      // by reduction
};

void ListWriter::add_tensor(StageOperation operation, int maker, int peer, std::int64_t bytes) {
  StageInstruction one = plan_.graph.task(maker).what;
  one.made_by = one.operation;
  one.operation = operation;
  one.keeps = one.lets_go = false;
  one.version = 0;
  one.peer = peer;
  one.bytes = bytes;
  list_.push_back(one);
}

void ListWriter::receive_inputs(int index) {
  for (const Dependency& one : plan_.graph.dependencies(index)) {
    const int from = plan_.graph.task(one.task).worker;
    if (!one.carries || from == worker_) {
      continue;
    }
    SentOrder& channel = plan_.channels[static_cast<std::size_t>(worker_)][from];
    const std::size_t wanted = plan_.tensors.index_of(*plan_.tensors.find(one.task, worker_));
    while (!plan_.is_received[wanted]) {
      const int maker = channel.makers[channel.next++];
      const Taken& taken = *plan_.tensors.find(maker, worker_);
      plan_.is_received[plan_.tensors.index_of(taken)] = true;
      add_tensor(StageOperation::kReceive, maker, from, taken.bytes);
    }
  }
}

void ListWriter::open_leaf(int index) {
  const int reduce = plan_.update_of[static_cast<std::size_t>(index)];
  if (reduce == kEverybody) {
    return;
  }
  Leaves& all = leaves(reduce);
  StageInstruction at = plan_.graph.task(reduce).what;
  at.microbatch = plan_.graph.task(index).what.microbatch;
  at.is_last = false;
  const auto leaf = static_cast<std::size_t>(at.microbatch - all.first);
  if (!all.is_begun[leaf]) {
    all.is_begun[leaf] = true;
    at.operation = StageOperation::kOpenLeaf;
    list_.push_back(at);
  }
  if (all.num_missing == 1) {
    list_.push_back(plan_.graph.task(reduce).what);
    list_.back().operation = StageOperation::kArm;
  }
}

void ListWriter::close_leaves(int index) {
  const int reduce = plan_.update_of[static_cast<std::size_t>(index)];
  if (reduce == kEverybody) {
    return;
  }
  Leaves& all = leaves(reduce);
  --all.num_missing;
  --all.missing[static_cast<std::size_t>(plan_.graph.task(index).what.microbatch - all.first)];
  for (; all.next < all.missing.size() && all.missing[all.next] == 0; ++all.next) {
    list_.push_back(plan_.graph.task(reduce).what);
    list_.back().operation = StageOperation::kCloseLeaf;
    list_.back().is_last = false;
    list_.back().microbatch = all.first + static_cast<int>(all.next);
  }
}

void ListWriter::send(int index) {
  for (const Taken& one : plan_.tensors.of(index)) {
    if (one.worker != worker_) {
      add_tensor(StageOperation::kSend, index, one.worker, one.bytes);
    }
  }
}

void ListWriter::use_up(const Taken& one, int maker) {
  if (--plan_.uses_left[plan_.tensors.index_of(one)] == 0) {
    add_tensor(StageOperation::kFree, maker, -1, one.bytes);
  }
}

/// Of what the task has used for the last time, its own tensor included where others alone take it.
void ListWriter::let_go(int index) {
  for (const Dependency& one : plan_.graph.dependencies(index)) {
    if (one.carries) {
      use_up(*plan_.tensors.find(one.task, worker_), one.task);
    }
  }
  if (!plan_.tensors.of(index).empty() && plan_.tensors.find(index, worker_) == nullptr) {
    add_tensor(StageOperation::kFree, index, -1, 0);
  }
}

void ListWriter::write(int index) {
  const StageInstruction& what = plan_.graph.task(index).what;
  if (what.operation == StageOperation::kFlush) {
    list_.push_back(what);
    return;
  }
  await_weights(what);
  receive_inputs(index);
  open_leaf(index);
  list_.push_back(what);
  if (what.operation == StageOperation::kReduce) {
    leaves_.erase(index);
    under_way_.emplace(ChunkPlace{what.network, what.chunk}, what);
    return;
  }
  close_leaves(index);
  send(index);
  let_go(index);
}

}  // namespace

StageSchedule lowered(const TaskGraph& graph, const TaskOrder& order, const Costs& costs) {
  ListPlan plan(graph, order, costs);
  StageSchedule schedule;
  for (int worker = 0; worker < graph.num_workers(); ++worker) {
    ListWriter writer(plan, worker);
    for (const int task : order[static_cast<std::size_t>(worker)]) {
      writer.write(task);
    }
    schedule.workers.push_back(writer.take());
  }
  return schedule;
}

StageSchedule stage_schedule(const std::vector<Phase>& phases, const Layout& layout, int first_step,
                             int num_steps, const Costs& costs, const ScheduleOptions& options) {
  const TaskGraph graph(phases, layout, first_step, num_steps, work_options(options));
  return lowered(graph, ordered(graph, costs, options), costs);
}

}  // namespace gangway::pipeline
