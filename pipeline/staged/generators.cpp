// SPDX-License-Identifier: MIT
#include "pipeline/staged/generators.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "pipeline/staged/work_seconds.hpp"

namespace gangway::pipeline {
namespace {

/// Times that differ by less are one.
constexpr double kSameTime = 1e-12;

/// Less is first; then the order of tasks.
using Priority = std::array<int, 5>;

bool goes_up(StageOperation operation) {
  return operation == StageOperation::kForward || operation == StageOperation::kRecompute ||
         operation == StageOperation::kFirstSweep || operation == StageOperation::kThirdSweep;
}

int by_kind(StageOperation operation) {
  if (operation == StageOperation::kReduce || operation == StageOperation::kFlush ||
      operation == StageOperation::kAwait) {
    return 0;
  }
  if (operation == StageOperation::kRecompute) {
    return 1;  // for the backward behind it
  }
  return goes_up(operation) ? 2 : operation == StageOperation::kWeightGradient ? 3 : 1;
}

Priority priority_of(const Task& task, SchedulePolicy policy) {
  const StageInstruction& what = task.what;
  const int kind = by_kind(what.operation);
  switch (policy) {
    case SchedulePolicy::kByPass:
      return {goes_up(what.operation) ? 1 : kind == 0 ? 3 : 2, what.microbatch, what.chunk};
    case SchedulePolicy::kOneForwardOneBackward:
      return {kind, what.microbatch, -what.chunk};
    case SchedulePolicy::kFill:
      return {what.operation == StageOperation::kWeightGradient ? 1 : 0, task.fills ? 1 : 0,
              task.turn, kind, what.microbatch};
  }
  return {};
}

constexpr Priority kUrgent = {-1};

class Generator {
 public:
  Generator(const TaskGraph& graph, const Costs& costs, const ScheduleOptions& options);
  [[nodiscard]] TaskOrder run();

 private:
  struct Event {
    double at = 0.0;
    bool ends = false;  ///< the task is done; else it can begin
    int task = 0;
    auto operator<=>(const Event&) const = default;
  };
  struct Ready {
    Priority priority;
    int task = 0;
    auto operator<=>(const Ready&) const = default;
  };
  struct IdleWorker {
    double free_at = 0.0;
    std::vector<Ready> ready;  // a heap, first by priority on top
    int stored = 0;
    bool is_touched = false;
  };
  /// Forwards of one chunk of one application under way on a worker.
  using FlightPlace = std::tuple<int, int, int, int, int>;  // worker, phase, pass, node, chunk

  void take(const Event& event);
  void end(int index);
  void begin_something(IdleWorker& worker, int number);
  [[nodiscard]] bool force_something();
  void begin(IdleWorker& worker, int number, int index);
  [[nodiscard]] bool is_blocked(const Task& task, const IdleWorker& worker) const;
  [[nodiscard]] static FlightPlace flight_of(const Task& task) {
    return {task.worker, task.what.phase, task.what.pass, task.what.node, task.what.chunk};
  }
  void retire_weight_gradients(IdleWorker& worker) const;
  [[nodiscard]] double lag(int from, int to) const;
  void touch(int worker);

  const TaskGraph& graph_;
  const Costs& costs_;
  const ScheduleOptions& options_;
  std::vector<int> waits_for_;      // by task: so many others
  std::vector<double> ready_at_;    // by task, as far as is known
  std::vector<std::size_t> first_;  // of each task's followers, and the end
  std::vector<int> followers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<IdleWorker> workers_;
  std::vector<int> touched_;              // workers that something has happened to
  std::map<FlightPlace, int> in_flight_;  // kOneForwardOneBackward alone
  TaskOrder order_;
  double now_ = 0.0;
};

Generator::Generator(const TaskGraph& graph, const Costs& costs, const ScheduleOptions& options)
    : graph_(graph),
      costs_(costs),
      options_(options),
      ready_at_(static_cast<std::size_t>(graph.size()), 0.0),
      first_(static_cast<std::size_t>(graph.size()) + 1, 0),
      workers_(static_cast<std::size_t>(graph.num_workers())),
      order_(static_cast<std::size_t>(graph.num_workers())) {
  for (int task = 0; task < graph.size(); ++task) {
    waits_for_.push_back(static_cast<int>(graph.dependencies(task).size()));
    for (const Dependency& one : graph.dependencies(task)) {
      ++first_[static_cast<std::size_t>(one.task) + 1];
    }
    if (waits_for_.back() == 0) {
      events_.push({0.0, false, task});
    }
  }
  for (std::size_t task = 1; task < first_.size(); ++task) {
    first_[task] += first_[task - 1];
  }
  followers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (int task = 0; task < graph.size(); ++task) {
    for (const Dependency& one : graph.dependencies(task)) {
      followers_[next[static_cast<std::size_t>(one.task)]++] = task;
    }
  }
}

double Generator::lag(int from, int to) const {
  const Task& maker = graph_.task(from);
  const Task& taker = graph_.task(to);
  if (maker.worker == taker.worker || maker.worker < 0 || taker.worker < 0) {
    return 0.0;
  }
  const Link link = link_of(maker.worker, taker.worker, costs_.links);
  const WorkCosts& of =
      costs_.chunks[maker.what.network][static_cast<std::size_t>(maker.what.chunk)];
  return link.latency_seconds + static_cast<double>(of.output_bytes) / link.bytes_per_second;
}

void Generator::touch(int worker) {
  IdleWorker& one = workers_[static_cast<std::size_t>(worker)];
  if (!one.is_touched) {
    one.is_touched = true;
    touched_.push_back(worker);
  }
}

void Generator::end(int index) {
  for (auto at = first_[static_cast<std::size_t>(index)];
       at < first_[static_cast<std::size_t>(index) + 1]; ++at) {
    const int follower = followers_[at];
    double& ready_at = ready_at_[static_cast<std::size_t>(follower)];
    ready_at = std::max(ready_at, now_ + lag(index, follower));
    if (--waits_for_[static_cast<std::size_t>(follower)] == 0) {
      events_.push({ready_at, false, follower});
    }
  }
}

void Generator::take(const Event& event) {
  const Task& task = graph_.task(event.task);
  if (task.worker == kEverybody) {
    if (task.what.operation == StageOperation::kFlush) {
      for (std::vector<int>& list : order_) {
        list.push_back(event.task);
      }
    }
    return end(event.task);
  }
  IdleWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
  touch(task.worker);
  if (!event.ends) {
    worker.ready.push_back({priority_of(task, options_.policy), event.task});
    std::ranges::push_heap(worker.ready, std::greater<>());
    return;
  }
  worker.stored -= task.what.lets_go ? 1 : 0;
  if (options_.policy == SchedulePolicy::kOneForwardOneBackward && task.what.lets_go) {
    --in_flight_[flight_of(task)];
  }
  end(event.task);
}

bool Generator::is_blocked(const Task& task, const IdleWorker& worker) const {
  const bool keeps_more = task.what.keeps && task.what.operation != StageOperation::kRecompute;
  if (options_.policy == SchedulePolicy::kOneForwardOneBackward && task.depth > 0) {
    const auto found = in_flight_.find(flight_of(task));
    return keeps_more && found != in_flight_.end() && found->second >= task.depth;
  }
  return options_.max_stored > 0 && task.fills && keeps_more &&
         worker.stored >= options_.max_stored;
}

/// Puts them first: each frees what a forward has kept.
void Generator::retire_weight_gradients(IdleWorker& worker) const {
  bool changed = false;
  for (Ready& ready : worker.ready) {
    if (ready.priority != kUrgent &&
        graph_.task(ready.task).what.operation == StageOperation::kWeightGradient) {
      ready.priority = kUrgent;
      changed = true;
    }
  }
  if (changed) {
    std::ranges::make_heap(worker.ready, std::greater<>());
  }
}

void Generator::begin_something(IdleWorker& worker, int number) {
  if (worker.free_at > now_ + kSameTime || worker.ready.empty()) {
    return;
  }
  if (options_.max_stored > 0 && worker.stored >= options_.max_stored) {
    retire_weight_gradients(worker);
  }
  std::vector<Ready> skipped;
  while (!worker.ready.empty()) {
    std::ranges::pop_heap(worker.ready, std::greater<>());
    const Ready next = worker.ready.back();
    worker.ready.pop_back();
    const Task& task = graph_.task(next.task);
    if (is_blocked(task, worker)) {
      skipped.push_back(next);
      continue;
    }
    begin(worker, number, next.task);
    break;
  }
  for (const Ready& one : skipped) {
    worker.ready.push_back(one);
    std::ranges::push_heap(worker.ready, std::greater<>());
  }
}

/// Where all that is ready is held back: the first of it in the order of phases, so that what frees
/// the room it lacks can come.
bool Generator::force_something() {
  int first = graph_.size();
  for (const IdleWorker& worker : workers_) {
    for (const Ready& ready : worker.ready) {
      first = std::min(first, ready.task);
    }
  }
  if (first == graph_.size()) {
    return false;
  }
  const int number = graph_.task(first).worker;
  IdleWorker& worker = workers_[static_cast<std::size_t>(number)];
  std::erase_if(worker.ready, [first](const Ready& ready) { return ready.task == first; });
  std::ranges::make_heap(worker.ready, std::greater<>());
  begin(worker, number, first);
  return true;
}

void Generator::begin(IdleWorker& worker, int number, int index) {
  const Task& task = graph_.task(index);
  order_[static_cast<std::size_t>(number)].push_back(index);
  worker.stored += task.what.keeps ? 1 : 0;
  if (options_.policy == SchedulePolicy::kOneForwardOneBackward && task.what.keeps) {
    ++in_flight_[flight_of(task)];
  }
  worker.free_at = now_ + seconds_of(task.what, number, costs_);
  events_.push({worker.free_at, true, index});
}

TaskOrder Generator::run() {
  do {
    while (!events_.empty()) {
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at <= now_ + kSameTime) {
        const Event event = events_.top();
        events_.pop();
        take(event);
      }
      for (const int worker : touched_) {
        begin_something(workers_[static_cast<std::size_t>(worker)], worker);
        workers_[static_cast<std::size_t>(worker)].is_touched = false;
      }
      touched_.clear();
    }
  } while (force_something());
  if (std::ranges::any_of(waits_for_, [](int count) { return count > 0; })) {
    throw InvariantError("tasks of a step wait for one another");
  }
  return std::move(order_);
}

}  // namespace

WorkOptions work_options(const ScheduleOptions& options) {
  const bool fills = options.policy == SchedulePolicy::kFill;
  return {.backward = fills ? options.backward : BackwardKind::kFused,
          .order = fills ? PassOrder::kFree : PassOrder::kFlushed,
          .max_open_leaves = options.max_open_leaves,
          .max_penalty_leaves = options.max_penalty_leaves,
          .recomputes = options.recomputes};
}

TaskOrder ordered(const TaskGraph& graph, const Costs& costs, const ScheduleOptions& options) {
  return Generator(graph, costs, options).run();
}

}  // namespace gangway::pipeline
