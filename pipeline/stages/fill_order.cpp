// SPDX-License-Identifier: MIT
#include "pipeline/stages/fill_order.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

// A tensor's transfer time, in forwards. Real transfers are shorter. With uneven work, a worker
// scheduled to take a tensor at once would wait for it.
constexpr double kJourney = 1.0;

/// A task that a worker can begin; the worker begins the least by key().
struct Turn {
  StagePiece piece;
  int place = 0;  // the micro-batch's position in its worker's order
  int task = 0;
  /// For a meeting, its rank among the meetings that could begin, because other workers wait there.
  int meeting = std::numeric_limits<int>::max();
  [[nodiscard]] auto key() const {
    return std::tuple(meeting, piece.unit, piece.kind, place, piece.microbatch, piece.pass,
                      piece.index, task);
  }
  bool operator<(const Turn& other) const { return key() < other.key(); }
};

/// Returns the micro-batch's position. If several workers share a network's micro-batches, each
/// one's first come first, then each one's second, so that all workers get work early.
int place_of(int microbatch, const Layout& layout) {
  int place = microbatch;
  for (const NetworkGroup& group : layout) {
    for (const MicrobatchRange& range : group.ranges) {
      if (range.contains({microbatch, microbatch + 1})) {
        place = std::min(place, microbatch - range.begin);
      }
    }
  }
  return place;
}

/// Simulates the graph's work: each worker runs its next ready piece.
class WorkSimulation {
 public:
  WorkSimulation(PieceGraph graph, const Layout& layout);
  /// Runs the simulation. Call it once.
  [[nodiscard]] std::vector<std::vector<StagePiece>> run();

 private:
  [[nodiscard]] PieceTask& at(int task) { return graph_.tasks[static_cast<std::size_t>(task)]; }
  void is_over(int task);
  /// Meets one dependency of the task.
  void is_nearer(int task);
  /// Handles a task without unmet dependencies.
  void is_free(int task);
  /// Adds the tasks to their workers' ready pieces.
  void take_turns(const std::vector<int>& tasks, int meeting);

  /// The end of a piece, or the arrival of a tensor at its worker.
  struct Event {
    double time = 0.0;
    int task = 0;
    bool is_over = false;
    bool operator>(const Event& other) const {
      return std::tuple(time, is_over, task) > std::tuple(other.time, other.is_over, other.task);
    }
  };

  PieceGraph graph_;
  std::vector<int> places_;                     // by micro-batch
  std::vector<std::set<Turn>> ready_;           // by worker
  std::vector<std::vector<StagePiece>> order_;  // by worker
  int num_meetings_ = 0;                        // meetings that could begin so far
  double now_ = 0.0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

WorkSimulation::WorkSimulation(PieceGraph graph, const Layout& layout)
    : graph_(std::move(graph)),
      ready_(static_cast<std::size_t>(graph_.workers)),
      order_(ready_.size()) {
  for (int microbatch = 0; microbatch < layout.begin()->ranges.back().end; ++microbatch) {
    places_.push_back(place_of(microbatch, layout));
  }
}

void WorkSimulation::is_over(int task) {
  for (const int next : at(task).then) {
    const bool travels =
        at(task).worker >= 0 && at(next).worker >= 0 && at(task).worker != at(next).worker;
    if (travels) {
      events_.push({.time = now_ + kJourney, .task = next});
    } else {
      is_nearer(next);
    }
  }
}

void WorkSimulation::is_nearer(int task) {
  if (--at(task).missing == 0) {
    is_free(task);
  }
}

void WorkSimulation::take_turns(const std::vector<int>& tasks, int meeting) {
  for (const int task : tasks) {
    const StagePiece& piece = at(task).piece;
    ready_[static_cast<std::size_t>(at(task).worker)].insert(
        {.piece = piece,
         .place = places_[static_cast<std::size_t>(piece.microbatch)],
         .task = task,
         .meeting = meeting});
  }
}

void WorkSimulation::is_free(int task) {
  if (const std::optional<int> meeting = at(task).meeting) {
    const std::vector<int>& tasks = graph_.meetings[static_cast<std::size_t>(*meeting)];
    if (std::ranges::all_of(tasks, [this](int one) { return at(one).missing == 0; })) {
      take_turns(tasks, num_meetings_++);
    }
    return;
  }
  if (at(task).worker >= 0) {
    return take_turns({task}, std::numeric_limits<int>::max());
  }
  if (const std::optional<int> worker = at(task).ends_for) {
    order_[static_cast<std::size_t>(*worker)].push_back(at(task).piece);
  }
  is_over(task);
}

std::vector<std::vector<StagePiece>> WorkSimulation::run() {
  std::vector<int> begins;  // collected first, because is_free lets others become ready
  for (int task = 0; task < static_cast<int>(graph_.tasks.size()); ++task) {
    if (at(task).missing == 0) {
      begins.push_back(task);
    }
  }
  for (const int task : begins) {
    is_free(task);
  }
  std::vector<bool> is_busy(ready_.size());
  while (true) {
    for (std::size_t worker = 0; worker < ready_.size(); ++worker) {
      if (is_busy[worker] || ready_[worker].empty()) {
        continue;
      }
      const int task = ready_[worker].begin()->task;
      ready_[worker].erase(ready_[worker].begin());
      order_[worker].push_back(at(task).piece);
      events_.push({.time = now_ + at(task).time, .task = task, .is_over = true});
      is_busy[worker] = true;
    }
    if (events_.empty()) {
      break;
    }
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.is_over) {
        is_busy[static_cast<std::size_t>(at(event.task).worker)] = false;
        is_over(event.task);
      } else {
        is_nearer(event.task);
      }
    }
  }
  if (std::ranges::any_of(graph_.tasks, [](const PieceTask& task) { return task.missing > 0; })) {
    throw InvariantError(
        "the pieces of a step wait for one another in a circle; please report this");
  }
  return std::move(order_);
}

}  // namespace

std::vector<std::vector<StagePiece>> fill_order(const Layout& layout,
                                                const std::vector<StageUnit>& units,
                                                const PieceOptions& options) {
  return WorkSimulation(piece_graph(layout, units, options), layout).run();
}

}  // namespace gangway::pipeline
