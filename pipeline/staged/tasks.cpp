// SPDX-License-Identifier: MIT
#include "pipeline/staged/tasks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "pipeline/staged/pass_plan.hpp"
#include "pipeline/staged/update_tasks.hpp"

namespace gangway::pipeline {
namespace {

using Given = std::vector<Dependency>;

/// One number for each micro-batch and chunk of a network.
class Table {
 public:
  Table() = default;
  Table(int num_microbatches, int num_chunks)
      : num_chunks_(num_chunks),
        values_(static_cast<std::size_t>(num_microbatches * num_chunks), kNoTask) {}
  [[nodiscard]] int& at(int microbatch, int chunk) {
    return values_[static_cast<std::size_t>(microbatch * num_chunks_ + chunk)];
  }
  [[nodiscard]] int last(int microbatch) { return at(microbatch, num_chunks_ - 1); }
  [[nodiscard]] int num_chunks() const { return num_chunks_; }

 private:
  int num_chunks_ = 0;
  std::vector<int> values_;
};

/// Where an application is: phase, pass, node.
using Place = std::tuple<int, int, int>;

/// Whether no later one of the step is of `network`.
bool is_last_update(const std::vector<Phase>& phases, NetworkId network, const Phase& phase,
                    const StageInstruction& at) {
  return at.repeat + 1 == phase.repeats && std::ranges::none_of(phases, [&](const Phase& later) {
           return later.index > phase.index && trains(later, network) && runs_in(later, at.step);
         });
}

class Builder {
 public:
  Builder(const std::vector<Phase>& phases, const Layout& layout, const WorkOptions& options)
      : phases_(phases),
        layout_(layout),
        options_(options),
        plans_(plans_of(phases)),
        updates_(layout, options, lists) {
    for (const NetworkId network : layout.networks.ids()) {
      const auto num_chunks = layout.networks[network].chunks.size();
      versions_.add(0);
      workers_.add(Table(layout.num_microbatches, static_cast<int>(num_chunks)));
      for (int microbatch = 0; microbatch < layout.num_microbatches; ++microbatch) {
        for (int chunk = 0; chunk < static_cast<int>(num_chunks); ++chunk) {
          workers_[network].at(microbatch, chunk) = layout.worker_of(network, chunk, microbatch);
        }
      }
    }
  }

  void add_step(int step) {
    at_.step = step;
    for (const Phase& phase : phases_) {
      for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
        add_repeat(phase, repeat);
      }
    }
  }

  TaskLists lists;

 private:
  void add_repeat(const Phase& phase, int repeat);
  void add_pass(int pass);
  void add_forward(const NodePlan& plan);
  void add_backward(const NodePlan& plan);
  void add_first_sweeps(const NodePlan& plan);
  void add_last_sweeps(const NodePlan& plan);
  void add_gradient(const NodePlan& plan, int chunk, Given given);
  void begin_flush();
  /// A task of the repeat at hand and of no micro-batch.
  [[nodiscard]] Task beside_microbatches() const;

  /// Adds a task of the node and micro-batch at hand.
  int add(StageOperation operation, const NodePlan& plan, int chunk, const Given& given);
  /// Of one that sees the weights first.
  void await_weights(int task);
  /// A tensor of every application that the node at hand takes.
  [[nodiscard]] Given inputs(const NodePlan& plan);
  [[nodiscard]] Table& forward_of(int node) {
    return forwards_[is_recalled(node) ? Place{recall_->phase, recall_->pass, node}
                                       : Place{at_.phase, at_.pass, node}];
  }
  [[nodiscard]] bool is_recalled(int node) const { return recall_ && node < recall_->nodes; }
  /// What a later phase's pass plans for the application at hand, which it recalls.
  [[nodiscard]] const NodePlan* recaller() const;
  [[nodiscard]] int depth_of(int node) const;
  [[nodiscard]] Table fresh(const NodePlan& plan) const {
    return {layout_.num_microbatches, layout_.networks[plan.network].num_chunks()};
  }
  [[nodiscard]] bool recomputes(const NodePlan& plan, int chunk) const {
    return options_.recomputes.size() > 0 &&
           options_.recomputes[plan.network].at(static_cast<std::size_t>(chunk));
  }
  [[nodiscard]] const std::vector<NodePlan>& plans() const {
    return plans_[static_cast<std::size_t>(at_.phase)][static_cast<std::size_t>(at_.pass)];
  }
  [[nodiscard]] Task& last_task() { return lists.tasks.back(); }

  const std::vector<Phase>& phases_;
  const Layout& layout_;
  const WorkOptions& options_;
  PassPlans plans_;
  PerNetwork<Table> workers_;
  StageInstruction at_;           // what the next tasks have in common
  std::optional<Recall> recall_;  // of the pass at hand
  int turn_ = 0;
  std::map<Place, Table> forwards_;  // of the step's last repeat of each phase
  std::map<int, Table> gradients_;   // of the pass at hand, by node: what its input gradients make
  PerNetwork<int> versions_;         // that the repeat at hand sees
  UpdateTasks updates_;
  int flush_ = kNoTask;
  int flushed_ = 0;  // tasks before the last flush
};

int Builder::add(StageOperation operation, const NodePlan& plan, int chunk, const Given& given) {
  const int index = static_cast<int>(lists.tasks.size());
  Task task{.what = at_, .turn = turn_};
  task.what.operation = operation;
  task.what.network = plan.network;
  task.what.chunk = chunk;
  task.what.version = versions_[plan.network];
  task.worker = workers_[plan.network].at(at_.microbatch, chunk);
  lists.tasks.push_back(task);
  for (const Dependency& one : given) {
    lists.edges.emplace_back(index, one);
  }
  updates_.note_use(index);
  return index;
}

void Builder::await_weights(int task) {
  const StageInstruction& what = lists.tasks[static_cast<std::size_t>(task)].what;
  for (const int before : {updates_.updated(what.network, what.chunk), flush_}) {
    if (before != kNoTask) {
      lists.edges.emplace_back(task, Dependency{before, false});
    }
  }
}

Given Builder::inputs(const NodePlan& plan) {
  Given given;
  for (const int node : plan.feeds) {
    given.push_back({forward_of(node).last(at_.microbatch), true});
  }
  return given;
}

const NodePlan* Builder::recaller() const {
  const Phase& phase = phases_[static_cast<std::size_t>(at_.phase)];
  for (const Phase& later : phases_) {
    for (std::size_t pass = 0; pass < later.passes.size(); ++pass) {
      const std::optional<Recall>& recall = later.passes[pass].recall;
      if (recall && recall->phase == at_.phase && recall->pass == at_.pass &&
          at_.node < recall->nodes && at_.repeat + 1 == phase.repeats) {
        return &plans_[static_cast<std::size_t>(later.index)][pass]
                      [static_cast<std::size_t>(at_.node)];
      }
    }
  }
  return nullptr;
}

int Builder::depth_of(int node) const {
  const std::vector<NodePlan>& all = plans();
  int behind = 0;
  for (int later = node + 1; later < static_cast<int>(all.size()); ++later) {
    if (std::ranges::find(all[static_cast<std::size_t>(later)].feeds, node) !=
        all[static_cast<std::size_t>(later)].feeds.end()) {
      behind = std::max(behind, depth_of(later));
    }
  }
  return behind + layout_.networks[all[static_cast<std::size_t>(node)].network].num_chunks();
}

void Builder::add_forward(const NodePlan& plan) {
  const NodePlan* later = recaller();
  const bool keeps = plan.has_gradient || (later != nullptr && later->has_gradient);
  Table& forward = forward_of(at_.node);
  Given given = inputs(plan);
  for (int chunk = 0; chunk < forward.num_chunks(); ++chunk) {
    const int index = add(StageOperation::kForward, plan, chunk, given);
    await_weights(index);
    Task& task = last_task();
    task.what.keeps = keeps && !recomputes(plan, chunk);
    task.fills = plan.fills_forward || (later != nullptr && later->fills_forward);
    task.depth = later == nullptr ? depth_of(at_.node) - chunk : 0;
    forward.at(at_.microbatch, chunk) = index;
    given = {{index, true}};
  }
}

/// Backward of `chunk`, which waits for `given`, the gradient of what it made.
void Builder::add_gradient(const NodePlan& plan, int chunk, Given given) {
  Table& forward = forward_of(at_.node);
  const bool is_recomputed = recomputes(plan, chunk);
  int kept = forward.at(at_.microbatch, chunk);
  if (is_recomputed) {
    Given again = given;  // not before the gradient is there
    again.push_back({kept, false});
    for (const Dependency& input :
         chunk == 0 ? inputs(plan) : Given{{forward.at(at_.microbatch, chunk - 1), true}}) {
      again.push_back(input);
    }
    kept = add(StageOperation::kRecompute, plan, chunk, again);
    last_task().what.keeps = true;
  }
  given.push_back({kept, false});
  const bool is_split = options_.backward == BackwardKind::kSplit;
  const int index =
      add(is_split || !plan.is_trained ? StageOperation::kInputGradient : StageOperation::kBackward,
          plan, chunk, given);
  last_task().fills = plan.fills_backward;
  last_task().what.lets_go = !is_split || !plan.is_trained;
  gradients_[at_.node].at(at_.microbatch, chunk) = index;
  if (is_split && plan.is_trained) {
    add(StageOperation::kWeightGradient, plan, chunk, {{index, false}});
    last_task().fills = plan.fills_backward;
    last_task().what.lets_go = true;
  }
}

void Builder::add_backward(const NodePlan& plan) {
  Table& gradient = gradients_[at_.node];
  Given given;
  for (const int node : plan.gradient_from) {
    given.push_back({gradients_[node].at(at_.microbatch, 0), true});
  }
  for (const int node : plan.losses_with) {
    given.push_back({forward_of(node).last(at_.microbatch), true});
  }
  for (int chunk = gradient.num_chunks(); chunk-- > 0;) {
    add_gradient(plan, chunk, std::move(given));
    given = {{gradient.at(at_.microbatch, chunk), true}};
  }
}

void Builder::add_first_sweeps(const NodePlan& plan) {
  Table up = fresh(plan);
  Given given = inputs(plan);
  for (int chunk = 0; chunk < up.num_chunks(); ++chunk) {
    const int index = up.at(at_.microbatch, chunk) =
        add(StageOperation::kFirstSweep, plan, chunk, given);
    await_weights(index);
    last_task().what.keeps = true;
    last_task().fills = plan.fills_forward;
    last_task().depth = up.num_chunks() - chunk;
    given = {{index, true}};
  }
  Table& down = gradients_[at_.node];  // of the second sweep, which the third goes on from
  given = {};
  for (int chunk = up.num_chunks(); chunk-- > 0;) {
    given.push_back({up.at(at_.microbatch, chunk), false});
    const int index = down.at(at_.microbatch, chunk) =
        add(StageOperation::kSecondSweep, plan, chunk, given);
    last_task().fills = plan.fills_backward;
    given = {{index, true}};
  }
}

void Builder::add_last_sweeps(const NodePlan& plan) {
  Table& second = gradients_[at_.node];
  Table up = fresh(plan);
  Given given;
  for (int chunk = 0; chunk < up.num_chunks(); ++chunk) {
    given.push_back({second.at(at_.microbatch, chunk), false});
    const int index = up.at(at_.microbatch, chunk) =
        add(StageOperation::kThirdSweep, plan, chunk, given);
    last_task().fills = plan.fills_forward;
    given = {{index, true}};
  }
  given = {};
  for (int chunk = up.num_chunks(); chunk-- > 0;) {
    given.push_back({up.at(at_.microbatch, chunk), false});
    const int index = add(StageOperation::kFourthSweep, plan, chunk, given);
    last_task().what.lets_go = true;
    last_task().fills = plan.fills_backward;
    given = {{index, true}};
  }
}

void Builder::add_pass(int pass) {
  at_.pass = pass;
  recall_ =
      phases_[static_cast<std::size_t>(at_.phase)].passes[static_cast<std::size_t>(pass)].recall;
  const std::vector<NodePlan>& all = plans();
  const auto num_nodes = static_cast<int>(all.size());
  gradients_.clear();
  for (int node = 0; node < num_nodes; ++node) {
    const NodePlan& plan = all[static_cast<std::size_t>(node)];
    if (plan.kind != NodePlan::Kind::kNone) {
      gradients_[node] = fresh(plan);
      if (!is_recalled(node)) {
        forward_of(node) = fresh(plan);
      }
    }
  }
  using Kind = NodePlan::Kind;
  for (at_.microbatch = 0; at_.microbatch < layout_.num_microbatches; ++at_.microbatch) {
    for (at_.node = 0; at_.node < num_nodes; ++at_.node) {
      const NodePlan& plan = all[static_cast<std::size_t>(at_.node)];
      if (plan.kind == Kind::kApplication && !plan.is_recalled) {
        add_forward(plan);
      } else if (plan.kind == Kind::kPenalty) {
        add_first_sweeps(plan);
      }
    }
    for (at_.node = num_nodes; at_.node-- > 0;) {
      const NodePlan& plan = all[static_cast<std::size_t>(at_.node)];
      if (plan.kind == Kind::kPenalty) {
        add_last_sweeps(plan);
      } else if (plan.kind == Kind::kApplication && plan.has_gradient) {
        add_backward(plan);
      }
    }
  }
}

void Builder::begin_flush() {
  if (options_.order == PassOrder::kFree) {
    return;
  }
  std::vector<int> all(lists.tasks.size() - static_cast<std::size_t>(flushed_));
  std::iota(all.begin(), all.end(), flushed_);
  Task flush = beside_microbatches();
  flush.what.operation = StageOperation::kFlush;
  flush.worker = kEverybody;
  flush_ = lists.add(flush, all);
  flushed_ = flush_ + 1;
}

Task Builder::beside_microbatches() const {
  return {.what = {.step = at_.step, .phase = at_.phase, .repeat = at_.repeat}, .turn = turn_};
}

void Builder::add_repeat(const Phase& phase, int repeat) {
  at_.phase = phase.index;
  at_.repeat = repeat;
  turn_ = at_.step * phase.repeats + repeat;
  for (const NetworkId network : layout_.networks.ids()) {
    versions_[network] = version_at(phases_, network, at_.step, phase.index, repeat);
  }
  for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
    if (pass > 0) {
      begin_flush();
    }
    add_pass(pass);
  }
  for (const NetworkId network : phase.networks) {
    Task update = beside_microbatches();
    update.what.version = versions_[network];
    update.what.is_last = is_last_update(phases_, network, phase, at_);
    updates_.add(network, update);
  }
  begin_flush();
}

}  // namespace

TaskGraph::TaskGraph(const std::vector<Phase>& phases, const Layout& layout, int first_step,
                     int num_steps, const WorkOptions& options)
    : num_workers_(layout.num_workers) {
  Builder builder(phases, layout, options);
  for (int step = first_step; step < first_step + num_steps; ++step) {
    builder.add_step(step);
  }
  tasks_ = std::move(builder.lists.tasks);
  first_.resize(tasks_.size() + 1);
  for (const auto& [task, before] : builder.lists.edges) {
    ++first_[static_cast<std::size_t>(task) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  dependencies_.resize(builder.lists.edges.size());
  for (const auto& [task, before] : builder.lists.edges) {
    dependencies_[next[static_cast<std::size_t>(task)]++] = before;
  }
}

}  // namespace gangway::pipeline
