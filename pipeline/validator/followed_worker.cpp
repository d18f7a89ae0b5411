// SPDX-License-Identifier: MIT
#include "pipeline/validator/followed_worker.hpp"

#include <algorithm>

#include "pipeline/staged/text.hpp"

namespace gangway::pipeline {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

/// What of `what` differs from what its task says, in words.
Problem difference(const StageInstruction& what, const StageInstruction& task) {
  if (what.version != task.version) {
    return "the order of phases gives it weights of version " + number(task.version);
  }
  if (what.keeps != task.keeps) {
    return task.keeps ? "a backward follows, and it keeps nothing"
                      : "no backward follows it, so it has nothing to keep";
  }
  if (what.lets_go != task.lets_go) {
    return task.lets_go ? "it is the last to need what its forward kept, and does not let go"
                        : "what its forward kept is needed later";
  }
  return what == task ? "" : "it says more than it can mean";
}

}  // namespace

std::string FollowedWorker::describe(int task) const {
  return text_of(setup_.graph.task(task).what, setup_.names);
}

bool FollowedWorker::has_done(int task) const { return done_.contains(task); }

FollowedWorker::Weights& FollowedWorker::weights(NetworkId network, int chunk) {
  const auto [found, is_new] = weights_.try_emplace({network, chunk});
  if (is_new) {
    found->second.version = setup_.index.first_version(network);
  }
  return found->second;
}

FollowedWorker::Leaves& FollowedWorker::leaves(const UpdateTask& update) {
  const auto [found, is_new] = leaves_.try_emplace(update.task);
  if (is_new) {
    found->second.missing = update.adds;
    found->second.is_open.resize(update.adds.size());
    found->second.num_missing = update.num_adds;
  }
  return found->second;
}

Problem FollowedWorker::check_weights(const StageInstruction& what) {
  const Weights& here = weights(what.network, what.chunk);
  if (here.under_way) {
    return "an update of its weights is under way: await it";
  }
  if (here.version != what.version) {
    return "the weights here have version " + number(here.version);
  }
  return "";
}

Problem FollowedWorker::check_dependencies(int task) const {
  for (const Dependency& one : setup_.graph.dependencies(task)) {
    const Task& before = setup_.graph.task(one.task);
    if (one.carries) {
      const auto held = held_.find(one.task);
      if (held == held_.end() || held->second.is_gone) {
        return "what '" + describe(one.task) + "' makes is not here" +
               (held == held_.end() ? "" : " any more");
      }
    } else if (before.worker == number_ && computes(before.what.operation) &&
               !done_.contains(one.task)) {
      return "'" + describe(one.task) + "' comes first";
    }
  }
  return "";
}

Problem FollowedWorker::add_to_leaf(int task) {
  const UpdateTask* update = setup_.index.update_of(task);
  if (armed_for_ != kEverybody && (update == nullptr || update->task != armed_for_)) {
    return "it stands between an arm and the last work that it is for";
  }
  if (update == nullptr) {
    return "";
  }
  Leaves& all = leaves(*update);
  const auto leaf =
      static_cast<std::size_t>(setup_.graph.task(task).what.microbatch - update->first_microbatch);
  if (!all.is_open[leaf]) {
    return "its micro-batch has no open leaf";
  }
  if (--all.num_missing == 0 && armed_for_ == kEverybody) {
    return "the last work on its chunk's leaves is not armed for";
  }
  --all.missing[leaf];
  armed_for_ = kEverybody;
  return "";
}

Problem FollowedWorker::check_holding() const {
  const HoldingLimits& limits = setup_.limits;
  if (limits.max_stored > 0 && stored_ > limits.max_stored) {
    return number(stored_) + " forwards are kept, at most " + number(limits.max_stored) + " may be";
  }
  if (limits.max_bytes > 0 && bytes_ > limits.max_bytes) {
    return number(bytes_) + " bytes are held, at most " + number(limits.max_bytes) + " may be";
  }
  return "";
}

Problem FollowedWorker::compute(const StageInstruction& what) {
  const std::optional<int> task = setup_.index.task(what, what.operation);
  if (!task) {
    return "these steps have no such work";
  }
  const int owner = setup_.graph.task(*task).worker;
  if (owner != number_) {
    return "the layout gives it to worker " + number(owner);
  }
  if (done_.contains(*task)) {
    return "it is done already";
  }
  for (const Problem& problem : {difference(what, setup_.graph.task(*task).what),
                                 check_weights(what), check_dependencies(*task)}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  const Problem problem = add_to_leaf(*task);
  return problem.empty() ? take(what, *task) : problem;
}

/// Puts down that the task is done.
Problem FollowedWorker::take(const StageInstruction& what, int task) {
  done_.emplace(task, true);
  for (const Dependency& one : setup_.graph.dependencies(task)) {
    if (one.carries) {
      --held_[one.task].uses_left;
    }
  }
  if (!setup_.tensors.of(task).empty()) {
    Held& made = held_[task];
    for (const Taken& one : setup_.tensors.of(task)) {
      made.uses_left += one.worker == number_ ? one.uses : 0;
      made.sends_left += one.worker == number_ ? 0 : 1;
    }
  }
  stored_ += what.keeps ? 1 : 0;
  bytes_ += what.keeps ? costs_of(what).stored_bytes : 0;
  const Problem problem = check_holding();
  stored_ -= what.lets_go ? 1 : 0;
  bytes_ -= what.lets_go ? costs_of(what).stored_bytes : 0;
  return problem;
}

Problem FollowedWorker::check_leaf_of(const UpdateTask& update,
                                      const StageInstruction& what) const {
  StageInstruction expected = setup_.graph.task(update.task).what;
  expected.microbatch = what.microbatch;
  expected.operation = what.operation;
  expected.is_last = false;
  return what == expected ? "" : "it is '" + text_of(expected, setup_.names) + "'";
}

Problem FollowedWorker::open_leaf(const StageInstruction& what) {
  const UpdateTask* update = setup_.index.update(what, number_);
  const std::size_t num_leaves = update == nullptr ? 0 : update->adds.size();
  const int leaf = update == nullptr ? 0 : what.microbatch - update->first_microbatch;
  if (leaf < 0 || leaf >= static_cast<int>(num_leaves)) {
    return "this worker sums no such leaf";
  }
  if (const Problem problem = check_leaf_of(*update, what); !problem.empty()) {
    return problem;
  }
  if (const Problem problem = check_weights(what); !problem.empty()) {
    return problem;
  }
  Leaves& all = leaves(*update);
  const auto at = static_cast<std::size_t>(leaf);
  if (all.is_open[at] || at < all.num_closed) {
    return "the leaf has been opened already";
  }
  all.is_open[at] = true;
  bytes_ += costs_of(what).gradient_bytes;
  const int open = ++open_[{what.network, what.chunk}];
  if (setup_.limits.max_open_leaves > 0 && open > setup_.limits.max_open_leaves) {
    return number(open) + " leaves of the chunk are open, at most " +
           number(setup_.limits.max_open_leaves) + " may be";
  }
  return check_holding();
}

Problem FollowedWorker::close_leaf(const StageInstruction& what) {
  const UpdateTask* update = setup_.index.update(what, number_);
  if (update == nullptr) {
    return "this worker sums no such leaf";
  }
  if (const Problem problem = check_leaf_of(*update, what); !problem.empty()) {
    return problem;
  }
  Leaves& all = leaves(*update);
  const int next = update->first_microbatch + static_cast<int>(all.num_closed);
  if (what.microbatch != next) {
    return "leaves are closed in ascending order: that of micro-batch " + number(next) +
           " is the next";
  }
  if (all.num_closed >= all.is_open.size() || !all.is_open[all.num_closed]) {
    return "the leaf is not open";
  }
  if (all.missing[all.num_closed] > 0) {
    return "its leaf is not whole: " + number(all.missing[all.num_closed]) +
           " gradients are still to be added";
  }
  ++all.num_closed;
  --open_[{what.network, what.chunk}];
  bytes_ -= costs_of(what).gradient_bytes;
  return "";
}

Problem FollowedWorker::arm(const StageInstruction& what) {
  const UpdateTask* update = setup_.index.update(what, number_);
  if (update == nullptr) {
    return "this worker has no such update";
  }
  StageInstruction expected = setup_.graph.task(update->task).what;
  expected.operation = what.operation;
  if (what != expected) {
    return "it is '" + text_of(expected, setup_.names) + "'";
  }
  Leaves& all = leaves(*update);
  if (all.is_armed || all.num_missing != 1) {
    return "only the last work on a chunk's leaves is armed for, once";
  }
  all.is_armed = true;
  armed_for_ = update->task;
  return "";
}

Problem FollowedWorker::reduce(const StageInstruction& what) {
  const UpdateTask* update = setup_.index.update(what, number_);
  if (update == nullptr) {
    return "this worker has no such update";
  }
  if (what != setup_.graph.task(update->task).what) {
    return "it is '" + describe(update->task) + "'";
  }
  if (done_.contains(update->task)) {
    return "it is done already";
  }
  for (const Problem& problem : {check_weights(what), check_dependencies(update->task)}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  if (leaves(*update).num_closed != update->adds.size()) {
    return number(static_cast<std::int64_t>(update->adds.size() - leaves(*update).num_closed)) +
           " leaves of the chunk are not closed";
  }
  done_.emplace(update->task, true);
  leaves_.erase(update->task);
  Weights& here = weights(what.network, what.chunk);
  here.under_way = true;
  here.reduce = what;
  return "";
}

Problem FollowedWorker::check_await(const StageInstruction& what) const {
  const auto found = weights_.find({what.network, what.chunk});
  if (found == weights_.end() || !found->second.under_way) {
    return "no update of these weights is under way here";
  }
  StageInstruction expected = found->second.reduce;
  expected.operation = what.operation;
  expected.is_last = false;
  ++expected.version;
  return what == expected ? "" : "it is '" + text_of(expected, setup_.names) + "'";
}

void FollowedWorker::await(const StageInstruction& what) {
  Weights& here = weights(what.network, what.chunk);
  here.under_way = false;
  ++here.version;
}

Problem FollowedWorker::send(const StageInstruction& what) {
  const std::optional<int> task = setup_.index.task(what, what.made_by);
  const Taken* taken =
      task && what.peer != number_ ? setup_.tensors.find(*task, what.peer) : nullptr;
  if (taken == nullptr) {
    return "worker " + number(what.peer) + " takes no such tensor";
  }
  const auto held = held_.find(*task);
  if (setup_.graph.task(*task).worker != number_ || held == held_.end() || held->second.is_gone) {
    return "the tensor is not here";
  }
  if (what.bytes != taken->bytes) {
    return "the tensor has " + number(taken->bytes) + " bytes";
  }
  --held->second.sends_left;
  return "";
}

Problem FollowedWorker::receive(const StageInstruction& what) {
  // Its sender has been checked: it is a tensor that somebody has made and that is wanted here.
  const int task = *setup_.index.task(what, what.made_by);
  if (held_.contains(task)) {
    return "the tensor has come already";
  }
  held_.emplace(task,
                Held{.uses_left = setup_.tensors.find(task, number_)->uses, .bytes = what.bytes});
  bytes_ += what.bytes;
  return check_holding();
}

Problem FollowedWorker::let_go(const StageInstruction& what) {
  const std::optional<int> task = setup_.index.task(what, what.made_by);
  const auto held = task ? held_.find(*task) : held_.end();
  if (held == held_.end() || held->second.is_gone) {
    return "the tensor is not here";
  }
  if (held->second.uses_left > 0 || held->second.sends_left > 0) {
    return "the tensor is needed later";
  }
  if (held->second.bytes != what.bytes || what.peer >= 0) {
    return "it is of " + number(held->second.bytes) + " received bytes, and of no peer";
  }
  held->second.is_gone = true;
  bytes_ -= what.bytes;
  return "";
}

Problem FollowedWorker::check_end() const {
  for (int task = 0; task < setup_.graph.size(); ++task) {
    if (setup_.graph.task(task).worker == number_ && !done_.contains(task)) {
      return "'" + describe(task) + "' is missing";
    }
  }
  for (const auto& [task, held] : held_) {
    if (held.sends_left > 0) {
      return "what '" + describe(task) + "' makes is not sent to all that take it";
    }
    if (!held.is_gone) {
      return "what '" + describe(task) + "' makes is never let go of";
    }
  }
  for (const auto& [place, here] : weights_) {
    if (here.under_way) {
      return "'" + text_of(here.reduce, setup_.names) + "' is never awaited";
    }
  }
  return "";
}

}  // namespace gangway::pipeline
