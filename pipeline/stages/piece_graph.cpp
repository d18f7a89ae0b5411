// SPDX-License-Identifier: MIT
#include "pipeline/stages/piece_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace gangway::pipeline {
namespace {

/// Returns the network whose weights or statistics the node reads.
std::optional<NetworkId> looked_at(const Node& node) {
  if (const auto* application = std::get_if<Application>(&node)) {
    return application->network;
  }
  if (const auto* penalty = std::get_if<Penalty>(&node)) {
    return penalty->network;
  }
  if (const auto* running = std::get_if<Running>(&node)) {
    return running->network;
  }
  if (const auto* augment = std::get_if<Augment>(&node)) {
    return augment->judge;
  }
  return std::nullopt;
}

// Assumed times: a chunk's forward takes 1, its backward to inputs 1, its backward to weights 1.
constexpr double kForward = 1.0;
constexpr double kSweeps = 2.0;  // of a penalty, forward; as long backward

double forward_time(const Node& node) {
  return std::holds_alternative<Application>(node) ? kForward
         : std::holds_alternative<Penalty>(node)   ? kSweeps
                                                   : 0.0;
}

double backward_time(const Phase& phase, const Node& node) {
  const auto* penalty = std::get_if<Penalty>(&node);
  const NetworkId network =
      penalty != nullptr ? penalty->network : std::get<Application>(node).network;
  return (penalty != nullptr ? kSweeps : kForward) * (trains(phase, network) ? 2.0 : 1.0);
}

/// Facts of a pass that are needed repeatedly.
struct PassFacts {
  const Pass* graph = nullptr;
  int end = 0;    ///< of the nodes with forward pieces
  int ahead = 0;  ///< of the nodes that may run before the updates of the unit before
  std::vector<std::vector<std::optional<int>>> owners = {};  ///< by micro-batch and node
  std::vector<std::vector<int>> takers = {};  ///< by node: the nodes that take an output of it
};

PassFacts facts_of(const StageUnit& unit, const Phase* before, const Pass& graph,
                   const Layout& layout) {
  PassFacts facts{.graph = &graph, .end = first_penalty(graph)};
  facts.ahead = before == nullptr ? 0 : nodes_ahead(*unit.phase, graph, *before);
  for (int microbatch = 0; microbatch < layout.begin()->ranges.back().end; ++microbatch) {
    facts.owners.push_back(owners_of(graph, layout, microbatch));
  }
  for (int maker = 0; maker < static_cast<int>(graph.nodes.size()); ++maker) {
    facts.takers.push_back(consumers_of(graph, maker));
  }
  return facts;
}

/// Builds the PieceGraph.
class Builder {
 public:
  Builder(const Layout& layout, const std::vector<StageUnit>& units, const PieceOptions& options);
  [[nodiscard]] PieceGraph take() { return std::move(graph_); }

 private:
  [[nodiscard]] const Phase& phase(int unit) const {
    return *units_[static_cast<std::size_t>(unit)].phase;
  }
  [[nodiscard]] const PassFacts& facts(int unit, int pass) const {
    return facts_[static_cast<std::size_t>(unit)][static_cast<std::size_t>(pass)];
  }
  int add(int worker, const StagePiece& piece) {
    graph_.tasks.push_back({.worker = worker, .piece = piece});
    return static_cast<int>(graph_.tasks.size()) - 1;
  }
  [[nodiscard]] PieceTask& at(int task) { return graph_.tasks[static_cast<std::size_t>(task)]; }
  void needs(int task, int other) {
    at(other).then.push_back(task);
    ++at(task).missing;
  }
  /// Makes `task` depend on the unit's end on the worker. No effect for a negative unit.
  void needs_end(int task, int unit, int worker) {
    if (unit >= 0) {
      needs(task, ends_.at({unit, worker}));
    }
  }
  /// Makes `task` depend on the network's last update before `unit`.
  void needs_weights(int task, int unit, NetworkId network);
  void add_ends(int unit);
  void add_forwards(int unit, int microbatch, int pass);
  void add_forward(int unit, int microbatch, int pass, int node);
  void add_segments(int unit, int microbatch);
  /// Makes `task` depend on the backwards that keep the worker within `in_flight`.
  void needs_room(int task, int worker);
  /// The tasks of a segment, by worker with work in it.
  struct SegmentTasks {
    std::map<int, int> awaited;  ///< all work; of a split segment the input gradients
    std::map<int, int> weights;  ///< weight gradients of a split segment
  };
  [[nodiscard]] SegmentTasks add_segment(int unit, int microbatch, int index,
                                         const BackwardSegment& segment);
  void add_meeting(const std::map<int, int>& by_worker);
  /// Adds one task of a segment, after the segment's task for the micro-batch before.
  int add_segment_task(const StagePiece& piece, int worker);

  const Layout& layout_;
  const std::vector<StageUnit>& units_;
  PieceOptions options_;
  std::vector<std::vector<PassFacts>> facts_;  // by unit and pass
  PieceGraph graph_;
  std::map<std::pair<int, int>, int> ends_;                      // by unit and worker
  std::map<std::pair<int, NetworkId>, int> updates_;             // by unit
  std::map<std::tuple<int, int, int, int>, int> forwards_;       // by unit, micro-batch, pass, node
  std::map<std::tuple<int, int, int, int>, int> last_;           // the latest, by worker for node
  std::map<std::tuple<int, int, int>, std::vector<int>> tasks_;  // by unit, micro-batch, worker
  /// The last task, by unit, kind, segment and worker.
  std::map<std::tuple<int, StagePiece::Kind, int, int>, int> segments_;
  /// By worker: the backward tasks of each unit and micro-batch that it takes part in.
  std::map<int, std::vector<std::vector<int>>> backwards_;
};

Builder::Builder(const Layout& layout, const std::vector<StageUnit>& units,
                 const PieceOptions& options)
    : layout_(layout), units_(units), options_(options) {
  for (const NetworkGroup& group : layout) {
    graph_.workers = std::max(graph_.workers, *std::ranges::max_element(group.workers) + 1);
  }
  const int microbatches = layout.begin()->ranges.back().end;
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    std::vector<PassFacts>& of_unit = facts_.emplace_back();
    for (const Pass& graph : phase(unit).passes) {
      of_unit.push_back(facts_of(units_[static_cast<std::size_t>(unit)],
                                 unit == 0 ? nullptr : &phase(unit - 1), graph, layout));
    }
    add_ends(unit);
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      for (int pass = 0; pass < static_cast<int>(of_unit.size()); ++pass) {
        add_forwards(unit, microbatch, pass);
      }
      add_segments(unit, microbatch);
    }
  }
}

void Builder::add_ends(int unit) {
  for (int worker = 0; worker < graph_.workers; ++worker) {
    const int end = ends_[{unit, worker}] = add(-1, {.unit = unit, .kind = StagePiece::Kind::kEnd});
    at(end).ends_for = worker;
    needs_end(end, unit - 1, worker);
  }
  for (const NetworkId network : phase(unit).networks) {
    // The update needs all workers of the network, because they may have to agree on its norm.
    const int update = updates_[{unit, network}] = add(-1, {});
    const std::vector<int>& workers = layout_[network].workers;
    for (const int worker : std::set(workers.begin(), workers.end())) {
      needs_end(update, unit, worker);
    }
  }
}

void Builder::needs_weights(int task, int unit, NetworkId network) {
  for (int before = unit; before-- > 0;) {
    if (const auto found = updates_.find({before, network}); found != updates_.end()) {
      return needs(task, found->second);
    }
  }
}

void Builder::add_forwards(int unit, int microbatch, int pass) {
  const PassFacts& of = facts(unit, pass);
  for (int node = 0; node < of.end; ++node) {
    if (of.owners[static_cast<std::size_t>(microbatch)][static_cast<std::size_t>(node)]) {
      add_forward(unit, microbatch, pass, node);
    }
  }
}

void Builder::add_forward(int unit, int microbatch, int pass, int node) {
  const PassFacts& of = facts(unit, pass);
  const auto& owners = of.owners[static_cast<std::size_t>(microbatch)];
  const int worker = *owners[static_cast<std::size_t>(node)];
  const int task =
      add(worker, {.unit = unit, .microbatch = microbatch, .pass = pass, .index = node});
  at(task).time = forward_time(node_of(*of.graph, node));
  forwards_[{unit, microbatch, pass, node}] = task;
  if (const auto before = last_.find({unit, microbatch, pass, worker}); before != last_.end()) {
    needs(task, before->second);
  }
  last_[{unit, microbatch, pass, worker}] = task;
  tasks_[{unit, microbatch, worker}].push_back(task);
  needs_room(task, worker);
  needs(ends_.at({unit, worker}), task);
  for (int maker = 0; maker < node; ++maker) {
    // The worker receives tensors in node order, so those for later nodes come before this one too.
    const auto owner = owners[static_cast<std::size_t>(maker)];
    if (owner && *owner != worker &&
        std::ranges::any_of(of.takers[static_cast<std::size_t>(maker)], [&](int taker) {
          return owners[static_cast<std::size_t>(taker)] == worker;
        })) {
      needs(task, forwards_.at({unit, microbatch, pass, maker}));
    }
  }
  // If new weights are awaited at once, a forward ahead comes before its unit's end. It must not
  // wait for room that becomes free after that end.
  const bool may_be_ahead = node < of.ahead && !(options_.awaits_at_once && options_.in_flight > 0);
  needs_end(task, may_be_ahead ? unit - 2 : unit - 1, worker);
  if (may_be_ahead) {
    for (const int other : tasks_[{unit - 1, microbatch, worker}]) {
      needs(task, other);  // it may recall their results
    }
    if (options_.awaits_at_once) {
      needs(ends_.at({unit - 1, worker}), task);  // a worker might wait forever behind it
    }
  }
  for (int before = 0; before <= node; ++before) {
    const std::optional<NetworkId> network = looked_at(node_of(*of.graph, before));
    if (network && owners[static_cast<std::size_t>(before)] == worker) {
      needs_weights(task, unit, *network);
    }
  }
}

int Builder::add_segment_task(const StagePiece& piece, int worker) {
  const int task = add(worker, piece);
  needs(ends_.at({piece.unit, worker}), task);
  needs_end(task, piece.unit - 1, worker);
  const auto [before, is_first] =
      segments_.try_emplace({piece.unit, piece.kind, piece.index, worker}, task);
  if (!is_first) {
    needs(task, std::exchange(before->second, task));
  }
  return task;
}

Builder::SegmentTasks Builder::add_segment(int unit, int microbatch, int index,
                                           const BackwardSegment& segment) {
  SegmentTasks tasks;
  for (const BackwardSegment::Item& item : segment.items) {
    const PassFacts& of = facts(unit, item.pass);
    const Node& node = node_of(*of.graph, item.node);
    const int worker =
        *of.owners[static_cast<std::size_t>(microbatch)][static_cast<std::size_t>(item.node)];
    if (!tasks.awaited.contains(worker)) {
      StagePiece piece{.unit = unit,
                       .kind = StagePiece::Kind::kSegment,
                       .microbatch = microbatch,
                       .index = index};
      tasks.awaited[worker] = add_segment_task(piece, worker);
      if (segment.is_split) {
        piece.kind = StagePiece::Kind::kWeights;
        tasks.weights[worker] = add_segment_task(piece, worker);
        needs(tasks.weights[worker], tasks.awaited[worker]);
      }
    }
    const double time = backward_time(phase(unit), node);
    at(tasks.awaited[worker]).time += segment.is_split ? time / 2.0 : time;
    if (segment.is_split) {
      at(tasks.weights[worker]).time += time / 2.0;
    }
    needs_weights(tasks.awaited[worker], unit, *looked_at(node));
  }
  return tasks;
}

void Builder::needs_room(int task, int worker) {
  const std::vector<std::vector<int>>& before = backwards_[worker];
  const auto most = static_cast<std::size_t>(options_.in_flight);
  if (most > 0 && before.size() >= most) {
    for (const int other : before[before.size() - most]) {
      needs(task, other);
    }
  }
}

void Builder::add_meeting(const std::map<int, int>& by_worker) {
  std::vector<int>& tasks = graph_.meetings.emplace_back();
  for (const auto& [worker, task] : by_worker) {
    tasks.push_back(task);
    at(task).meeting = static_cast<int>(graph_.meetings.size()) - 1;
  }
}

void Builder::add_segments(int unit, int microbatch) {
  const auto& segments = units_[static_cast<std::size_t>(unit)].segments;
  std::map<int, std::vector<int>> so_far;  // by pass
  std::map<int, std::vector<int>> own;     // by worker
  for (int index = 0; index < static_cast<int>(segments.size()); ++index) {
    const BackwardSegment& segment = segments[static_cast<std::size_t>(index)];
    std::set<int> passes;
    for (const BackwardSegment::Item& item : segment.items) {
      passes.insert(item.pass);
    }
    const SegmentTasks tasks = add_segment(unit, microbatch, index, segment);
    for (const auto& [worker, task] : tasks.awaited) {
      for (const int pass : passes) {
        for (int node = 0; node < facts(unit, pass).end; ++node) {
          if (const auto forward = forwards_.find({unit, microbatch, pass, node});
              forward != forwards_.end()) {
            needs(task, forward->second);
          }
        }
        for (const int before : so_far[pass]) {
          needs(task, before);
        }
      }
    }
    for (const auto& [worker, task] : tasks.weights) {
      own[worker].push_back(task);
    }
    if (tasks.awaited.size() > 1) {
      add_meeting(tasks.awaited);
    }
    for (const auto& [worker, task] : tasks.awaited) {
      own[worker].push_back(task);
      for (const int pass : passes) {
        so_far[pass].push_back(task);
      }
    }
  }
  for (const auto& [worker, tasks] : own) {
    backwards_[worker].push_back(tasks);
  }
}

}  // namespace

int nodes_ahead(const Phase& phase, const Pass& pass, const Phase& before) {
  const int end = first_penalty(pass);
  for (int node = 0; node < end; ++node) {
    const std::optional<NetworkId> network = looked_at(node_of(pass, node));
    if ((network && trains(before, *network)) ||
        (phase.takes_reals && std::holds_alternative<Reals>(node_of(pass, node)))) {
      return node;
    }
  }
  return end;
}

PieceGraph piece_graph(const Layout& layout, const std::vector<StageUnit>& units,
                       const PieceOptions& options) {
  return Builder(layout, units, options).take();
}

}  // namespace gangway::pipeline
