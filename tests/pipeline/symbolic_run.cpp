// SPDX-License-Identifier: MIT
#include "tests/pipeline/symbolic_run.hpp"

#include <algorithm>
#include <set>

namespace gangway::pipeline {
namespace {

/// A symbol that stands for `one` behind `before` (SplitMix64's finaliser).
Symbol behind(Symbol before, std::uint64_t one) {
  std::uint64_t x = before * 0x9e3779b97f4a7c15ULL + one + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

Symbol place_symbol(const StageInstruction& what, StageOperation operation) {
  Symbol symbol = static_cast<Symbol>(operation);
  for (const int part : {static_cast<int>(what.network), what.chunk, what.step, what.phase,
                         what.repeat, what.pass, what.node, what.microbatch}) {
    symbol = behind(symbol, static_cast<std::uint64_t>(part));
  }
  return symbol;
}

/// Whether `later` works on what `before` has left on its worker, and does not only follow it.
bool goes_on_from(const StageInstruction& before, const StageInstruction& later) {
  const bool is_order_of_sums = adds_to_leaf(before.operation) && adds_to_leaf(later.operation) &&
                                (before.pass != later.pass || before.node != later.node ||
                                 before.microbatch != later.microbatch);
  return computes(before.operation) && !is_order_of_sums;
}

bool is_of_one_place(const StageInstruction& a, const StageInstruction& b) {
  return a.network == b.network && a.chunk == b.chunk && a.step == b.step && a.phase == b.phase &&
         a.repeat == b.repeat && a.pass == b.pass && a.node == b.node &&
         a.microbatch == b.microbatch;
}

}  // namespace

SymbolicRun::Place SymbolicRun::place_of(const StageInstruction& what, StageOperation operation) {
  return {static_cast<int>(operation),
          static_cast<int>(what.network),
          what.chunk,
          what.step,
          what.phase,
          what.repeat,
          what.pass,
          what.node,
          what.microbatch};
}

SymbolicRun::SymbolicRun(const TaskGraph& graph, const StageSchedule& schedule)
    : graph_(graph), schedule_(schedule), workers_(schedule.workers.size()) {
  std::map<Chunk, std::set<int>> members;
  for (int task = 0; task < graph.size(); ++task) {
    const StageInstruction& what = graph.task(task).what;
    if (computes(what.operation)) {
      tasks_.emplace(place_of(what, what.operation), task);
    } else if (what.operation == StageOperation::kReduce) {
      members[{static_cast<int>(what.network), what.chunk}].insert(graph.task(task).worker);
    }
  }
  for (const auto& [chunk, all] : members) {
    num_members_[chunk] = static_cast<int>(all.size());
  }
}

std::optional<int> SymbolicRun::task_of(const StageInstruction& what,
                                        StageOperation operation) const {
  const auto found = tasks_.find(place_of(what, operation));
  return found == tasks_.end() ? std::nullopt : std::optional(found->second);
}

Symbol& SymbolicRun::weights_of(Worker& worker, Chunk chunk) const {
  return worker.weights
      .try_emplace(chunk, behind(static_cast<Symbol>(chunk.first) + 7,
                                 static_cast<std::uint64_t>(chunk.second)))
      .first->second;
}

FinalWeights SymbolicRun::run() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t number = 0; number < workers_.size(); ++number) {
      const StageList& list = schedule_.workers[number];
      while (workers_[number].at < list.size()) {
        const Outcome outcome = perform(number, list[workers_[number].at]);
        if (outcome == Outcome::kFails) {
          return std::nullopt;
        }
        if (outcome == Outcome::kWaits) {
          break;
        }
        ++workers_[number].at;
        goes_on = true;
      }
    }
  }
  std::map<std::pair<int, int>, Symbol> weights;
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    const Worker& worker = workers_[number];
    if (worker.at < schedule_.workers[number].size() || !worker.under_way.empty()) {
      return std::nullopt;
    }
    for (const auto& [chunk, value] : worker.weights) {
      if (weights.emplace(chunk, value).first->second != value) {
        return std::nullopt;
      }
    }
  }
  const bool all_received =
      std::ranges::all_of(messages_, [](const auto& one) { return one.second.empty(); });
  return all_received ? FinalWeights(weights) : std::nullopt;
}

SymbolicRun::Outcome SymbolicRun::perform(std::size_t number, const StageInstruction& what) {
  Worker& worker = workers_[number];
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  switch (what.operation) {
    case StageOperation::kOpenLeaf:
      worker.open[{chunk, what.microbatch}] = {};
      return worker.under_way.contains(chunk) ? Outcome::kFails : Outcome::kDone;
    case StageOperation::kCloseLeaf:
      return close_leaf(worker, what);
    case StageOperation::kArm:
      worker.armed[chunk] = false;
      return Outcome::kDone;
    case StageOperation::kReduce:
      return reduce(number, what);
    case StageOperation::kAwait:
      return await(worker, what);
    case StageOperation::kSend:
    case StageOperation::kReceive:
      return transfer(number, what);
    case StageOperation::kFree: {
      const std::optional<int> task = task_of(what, what.made_by);
      return task && worker.tensors.erase(*task) > 0 ? Outcome::kDone : Outcome::kFails;
    }
    case StageOperation::kFlush:
      return flush(number);
    default:
      return compute(worker, what);
  }
}

/// What `task` computes, of what is here. Input and weight gradients are two parts of one thing.
std::optional<Symbol> SymbolicRun::value_of(const Worker& worker, int task) const {
  const StageInstruction& what = graph_.task(task).what;
  StageOperation operation = what.operation;
  if (operation == StageOperation::kRecompute) {
    const auto all = graph_.dependencies(task);
    return value_of(worker, std::ranges::find(all, false, &Dependency::carries)->task);
  }
  if (operation == StageOperation::kBackward) {
    operation = StageOperation::kInputGradient;
  }
  Symbol value = place_symbol(what, operation);
  if (operation != StageOperation::kWeightGradient) {
    const auto weights = worker.weights.find({static_cast<int>(what.network), what.chunk});
    value = behind(value, weights->second);
  }
  for (const Dependency& one : graph_.dependencies(task)) {
    const StageInstruction& before = graph_.task(one.task).what;
    if (!one.carries && !goes_on_from(before, what)) {
      continue;
    }
    const std::map<int, Symbol>& from = one.carries ? worker.tensors : worker.kept;
    const auto found = from.find(one.task);
    if (found == from.end()) {
      return std::nullopt;
    }
    value = behind(value, found->second);
  }
  return value;
}

SymbolicRun::Outcome SymbolicRun::compute(Worker& worker, const StageInstruction& what) {
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  const std::optional<int> task = task_of(what, what.operation);
  if (!task || worker.under_way.contains(chunk)) {
    return Outcome::kFails;
  }
  (void)weights_of(worker, chunk);
  const std::optional<Symbol> value = value_of(worker, *task);
  if (!value) {
    return Outcome::kFails;
  }
  worker.tensors[*task] = *value;
  const bool is_forward = what.operation == StageOperation::kForward ||
                          what.operation == StageOperation::kRecompute ||
                          what.operation == StageOperation::kFirstSweep;
  if (!is_forward || what.keeps) {
    worker.kept[*task] = *value;
  }
  const Outcome outcome =
      adds_to_leaf(what.operation) ? add_to_leaf(worker, what, *value) : Outcome::kDone;
  if (what.lets_go) {
    std::erase_if(worker.kept, [&](const auto& one) {
      return is_of_one_place(graph_.task(one.first).what, what);
    });
  }
  return outcome;
}

SymbolicRun::Outcome SymbolicRun::add_to_leaf(Worker& worker, const StageInstruction& what,
                                              Symbol value) {
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  const auto leaf = worker.open.find({chunk, what.microbatch});
  const auto armed = worker.armed.find(chunk);
  if (leaf == worker.open.end() || (armed != worker.armed.end() && armed->second)) {
    return Outcome::kFails;
  }
  if (armed != worker.armed.end()) {
    armed->second = true;
  }
  if (what.operation == StageOperation::kWeightGradient) {
    // That of the input gradient, which a fused backward computes along.
    const auto gradient = worker.kept.find(*task_of(what, StageOperation::kInputGradient));
    value = gradient == worker.kept.end() ? value : gradient->second;
  }
  leaf->second.push_back(value);
  return Outcome::kDone;
}

SymbolicRun::Outcome SymbolicRun::close_leaf(Worker& worker, const StageInstruction& what) {
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  const auto leaf = worker.open.find({chunk, what.microbatch});
  std::map<int, Symbol>& closed = worker.closed[chunk];
  if (leaf == worker.open.end() || (!closed.empty() && closed.rbegin()->first >= what.microbatch)) {
    return Outcome::kFails;
  }
  std::vector<Symbol> added = leaf->second;
  if (added.size() == 2) {
    std::ranges::sort(added);  // a + b is b + a
  }
  Symbol sum = static_cast<Symbol>(what.microbatch);
  for (const Symbol one : added) {
    sum = behind(sum, one);
  }
  closed[what.microbatch] = sum;
  worker.open.erase(leaf);
  return Outcome::kDone;
}

SymbolicRun::Outcome SymbolicRun::reduce(std::size_t number, const StageInstruction& what) {
  Worker& worker = workers_[number];
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  if (!num_members_.contains(chunk) || worker.under_way.contains(chunk)) {
    return Outcome::kFails;
  }
  const auto [found, is_new] = exchange_of_.try_emplace({chunk, worker.num_updates[chunk]++},
                                                        static_cast<int>(exchanges_.size()));
  if (is_new) {
    exchanges_.push_back({.num_members = num_members_[chunk]});
    exchanges_.back().weights = weights_of(worker, chunk);
  }
  Exchange& exchange = exchanges_[static_cast<std::size_t>(found->second)];
  exchange.leaves.merge(worker.closed[chunk]);
  exchange.members.push_back(number);
  worker.closed.erase(chunk);
  worker.armed.erase(chunk);
  worker.under_way[chunk] = found->second;
  worker.lane.push_back(found->second);
  end_exchanges();
  return Outcome::kDone;
}

void SymbolicRun::end_exchanges() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t index = 0; index < exchanges_.size(); ++index) {
      Exchange& exchange = exchanges_[index];
      if (exchange.has_ended || static_cast<int>(exchange.members.size()) < exchange.num_members ||
          !std::ranges::all_of(exchange.members, [&](std::size_t member) {
            return workers_[member].lane.front() == static_cast<int>(index);
          })) {
        continue;
      }
      exchange.has_ended = goes_on = true;
      for (const auto& [microbatch, leaf] : exchange.leaves) {
        exchange.weights = behind(exchange.weights, leaf);
      }
      for (const std::size_t member : exchange.members) {
        workers_[member].lane.pop_front();
      }
    }
  }
}

SymbolicRun::Outcome SymbolicRun::await(Worker& worker, const StageInstruction& what) {
  const Chunk chunk{static_cast<int>(what.network), what.chunk};
  const auto found = worker.under_way.find(chunk);
  if (found == worker.under_way.end()) {
    return Outcome::kDone;
  }
  const Exchange& exchange = exchanges_[static_cast<std::size_t>(found->second)];
  if (!exchange.has_ended) {
    return Outcome::kWaits;
  }
  worker.weights[chunk] = exchange.weights;
  worker.under_way.erase(found);
  return Outcome::kDone;
}

SymbolicRun::Outcome SymbolicRun::transfer(std::size_t number, const StageInstruction& what) {
  Worker& worker = workers_[number];
  const auto here = static_cast<int>(number);
  const std::optional<int> task = task_of(what, what.made_by);
  if (!task || what.peer < 0 || what.peer >= static_cast<int>(workers_.size())) {
    return Outcome::kFails;
  }
  if (what.operation == StageOperation::kSend) {
    const auto value = worker.tensors.find(*task);
    if (value == worker.tensors.end() || what.peer == here) {
      return Outcome::kFails;
    }
    messages_[{here, what.peer}].push_back({*task, value->second, what.bytes});
    return Outcome::kDone;
  }
  std::deque<Message>& queue = messages_[{what.peer, here}];
  if (queue.empty()) {
    return Outcome::kWaits;
  }
  if (queue.front().bytes != what.bytes) {
    return Outcome::kFails;
  }
  worker.tensors[*task] = queue.front().value;
  queue.pop_front();
  return Outcome::kDone;
}

SymbolicRun::Outcome SymbolicRun::flush(std::size_t number) {
  workers_[number].is_at_flush = true;
  if (!std::ranges::all_of(workers_, &Worker::is_at_flush)) {
    return Outcome::kWaits;
  }
  for (std::size_t other = 0; other < workers_.size(); ++other) {
    workers_[other].is_at_flush = false;
    workers_[other].at += other == number ? 0 : 1;
  }
  return Outcome::kDone;
}

}  // namespace gangway::pipeline
