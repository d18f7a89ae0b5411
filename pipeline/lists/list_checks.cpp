// SPDX-License-Identifier: MIT
#include "pipeline/lists/list_checks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "pipeline/lists/list_text.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {
namespace {

using Lists = std::vector<std::vector<Instruction>>;

/// Finds the faults in the lists of one step.
class ListCheck {
 public:
  ListCheck(const Lists& lists, const std::vector<Phase>& phases, const Layout& layout,
            const PerNetwork<std::string>& names)
      : lists_(lists), phases_(phases), layout_(layout), names_(names) {}

  void check_messages();
  void check_work(std::int64_t step);
  void check_order(int worker);
  void check_leaves(int worker, std::int64_t step);
  void check_updates(int worker, std::int64_t step);
  [[nodiscard]] std::vector<std::string> take() { return std::move(faults_); }

 private:
  class Progress;

  void add(int worker, const std::string& where, const std::string& what) {
    std::string line = "rank ";
    line.append(std::to_string(worker + 1)).append(": ").append(where).append(": ").append(what);
    faults_.push_back(std::move(line));
  }
  void add(int worker, const Instruction& at, const std::string& what) {
    add(worker, line_of(at, names_), what);
  }
  [[nodiscard]] const std::vector<Instruction>& list(int worker) const {
    return lists_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] bool is_added_later(const Instruction& at) const;
  /// By phase and repeat of the step: the updates of `network`.
  [[nodiscard]] std::vector<std::pair<int, int>> updates_of(NetworkId network,
                                                            std::int64_t step) const;

  const Lists& lists_;
  const std::vector<Phase>& phases_;
  const Layout& layout_;
  const PerNetwork<std::string>& names_;
  std::vector<std::string> faults_;
};

void ListCheck::check_messages() {
  using Message = std::tuple<int, int, bool, int, int, int, int, int>;
  std::multiset<Message> under_way;
  std::vector<std::size_t> at(lists_.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
      for (; at[worker] < lists_[worker].size(); ++at[worker], moved = true) {
        const Instruction& one = lists_[worker][at[worker]];
        if (one.peer < 0) {
          continue;
        }
        const auto me = static_cast<int>(worker);
        const Message message{one.is_send() ? me : one.peer,
                              one.is_send() ? one.peer : me,
                              one.carries_gradient(),
                              one.phase,
                              one.repeat,
                              one.pass,
                              one.microbatch,
                              one.node};
        if (one.is_send()) {
          under_way.insert(message);
          continue;
        }
        const auto found = under_way.find(message);
        if (found == under_way.end()) {
          break;
        }
        under_way.erase(found);
      }
    }
  }
  for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
    if (at[worker] < lists_[worker].size()) {
      add(static_cast<int>(worker), lists_[worker][at[worker]], "waits for ever");
    }
  }
  if (faults_.empty() && !under_way.empty()) {
    add(std::get<0>(*under_way.begin()), "send", "no worker receives it");
  }
}

void ListCheck::check_work(std::int64_t step) {
  using Work = std::tuple<Operation, int, int, int, int, int>;
  const auto work_of = [](const Instruction& at) {
    return Work{at.operation, at.phase, at.repeat, at.pass, at.microbatch, at.node};
  };
  std::set<Work> halves;  // backwards with weight gradients still to come
  std::map<Work, std::pair<int, Instruction>> open;  // how often it must still be done
  const int microbatches = layout_.begin()->ranges.back().end;
  for (const Instruction& at :
       one_stage_schedule(phases_, {0, microbatches}, step, Overlap::kNone)) {
    if (at.is_work()) {
      open[work_of(at)] = {1, at};
    }
  }
  for (int worker = 0; worker < static_cast<int>(lists_.size()); ++worker) {
    for (const Instruction& at : list(worker)) {
      if (!at.is_work()) {
        continue;
      }
      if (at.part == BackwardPart::kInputs) {
        if (!open.contains(work_of(at)) || !halves.insert(work_of(at)).second) {
          add(worker, at, "is done twice, or no worker needs it");
        }
        continue;
      }
      if (at.part == BackwardPart::kWeights && halves.erase(work_of(at)) == 0) {
        add(worker, at, "comes without that to inputs, or before it");
      }
      if (--open[work_of(at)].first < 0) {
        add(worker, at, "is done twice, or no worker needs it");
      }
    }
  }
  for (const Work& half : halves) {
    faults_.push_back(line_of(open.at(half).second, names_) + ": its weights get no gradient");
  }
  for (const auto& [work, left] : open) {
    if (left.first > 0) {
      std::string line = "no worker does: ";
      faults_.push_back(line.append(line_of(left.second, names_)));
    }
  }
}

/// A worker's progress through its list: tensors and gradients that it has so far.
class ListCheck::Progress {
 public:
  Progress(const std::vector<Phase>& phases, const Layout& layout, int worker)
      : phases_(phases), layout_(layout), worker_(worker) {}

  /// Whether all inputs of `at` are there.
  [[nodiscard]] bool allows(const Instruction& at) {
    if (!enter(at)) {
      return false;
    }
    switch (at.operation) {
      case Operation::kForward:
      case Operation::kPenaltyForward:
        return makers_are_there(at, at.node);
      case Operation::kSend:
        return is_there(at, at.node);
      case Operation::kBackward:
        if (at.is_recomputed && !remade_.contains(place_of(at, at.node))) {
          return false;
        }
        [[fallthrough]];
      case Operation::kRecompute:
      case Operation::kPenaltyBackward:
        return made_.contains(place_of(at, at.node)) && gradients_are_there(at, at.node);
      case Operation::kSendGradient:
        return gradients_are_there(at, at.node);
      default:
        return true;
    }
  }
  void note(const Instruction& at) {
    if (at.operation == Operation::kReceiveGradient) {
      given_.insert({place_of(at, at.node), at.peer});
    } else if (at.operation == Operation::kRecompute) {
      remade_.insert(place_of(at, at.node));
    } else if (at.goes_back()) {
      back_.insert(place_of(at, at.node));
    } else if (at.is_work() || at.operation == Operation::kReceive) {
      made_.insert(place_of(at, at.node));
    }
  }

 private:
  using Place = std::tuple<int, int, int, int, int>;  // phase, repeat, pass, micro-batch, node
  [[nodiscard]] static Place place_of(const Instruction& at, int node) {
    return {at.phase, at.repeat, at.pass, at.microbatch, node};
  }
  /// Selects the instruction's pass. Returns false if its pass, micro-batch or node does not exist.
  [[nodiscard]] bool enter(const Instruction& at) {
    const std::vector<Pass>& passes = phases_[static_cast<std::size_t>(at.phase)].passes;
    const int microbatches = layout_.begin()->ranges.back().end;
    if (at.pass >= static_cast<int>(passes.size()) || at.microbatch >= microbatches) {
      return false;
    }
    const std::tuple place(at.phase, at.pass, at.microbatch);
    if (at.microbatch >= 0 && entered_ != place) {
      entered_ = place;
      pass_ = &passes[static_cast<std::size_t>(at.pass)];
      owners_ = owners_of(*pass_, layout_, at.microbatch);
    }
    return at.microbatch < 0 || at.node < static_cast<int>(pass_->nodes.size());
  }
  [[nodiscard]] bool is_instruction(int node) const {
    return std::holds_alternative<Application>(node_of(*pass_, node)) ||
           std::holds_alternative<Penalty>(node_of(*pass_, node));
  }
  [[nodiscard]] bool is_elsewhere(int node) const {
    const std::optional<int> owner = owners_[static_cast<std::size_t>(node)];
    return owner && *owner != worker_;
  }
  /// Whether the node's output is there. A node without instruction runs when its output is taken.
  [[nodiscard]] bool is_there(const Instruction& at, int node) const {
    return is_elsewhere(node) || is_instruction(node) ? made_.contains(place_of(at, node))
                                                      : makers_are_there(at, node);
  }
  [[nodiscard]] bool makers_are_there(const Instruction& at, int node) const {
    for (int maker = 0; maker < node; ++maker) {
      const std::vector<int> takers = consumers_of(*pass_, maker);
      if (std::ranges::find(takers, node) != takers.end() && !is_there(at, maker)) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool gradients_are_there(const Instruction& at, int node) const {
    for (const int taker : gradient_consumers(*pass_, node)) {
      const std::optional<int> owner = owners_[static_cast<std::size_t>(taker)];
      const bool is_given =
          is_elsewhere(taker) ? is_elsewhere(node) || given_.contains({place_of(at, node), *owner})
          : is_instruction(taker) ? back_.contains(place_of(at, taker))
                                  : gradients_are_there(at, taker);
      if (!is_given) {
        return false;
      }
    }
    return true;
  }

  const std::vector<Phase>& phases_;
  const Layout& layout_;
  int worker_;
  std::tuple<int, int, int> entered_{-1, -1, -1};
  const Pass* pass_ = nullptr;
  std::vector<std::optional<int>> owners_;  // by node of the pass
  std::set<Place> made_;                    // made here or received
  std::set<Place> back_;
  std::set<Place> remade_;                 // by a kRecompute
  std::set<std::pair<Place, int>> given_;  // gradients received for it, by worker
};

void ListCheck::check_order(int worker) {
  Progress progress(phases_, layout_, worker);
  for (const Instruction& at : list(worker)) {
    if (!progress.allows(at)) {
      add(worker, at, "comes before what it takes");
    }
    progress.note(at);
  }
}

std::vector<std::pair<int, int>> ListCheck::updates_of(NetworkId network, std::int64_t step) const {
  std::vector<std::pair<int, int>> updates;
  for (const Phase& phase : phases_) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      if (trains(phase, network)) {
        updates.emplace_back(phase.index, repeat);
      }
    }
  }
  return updates;
}

/// Whether the gradient is added later: a cut penalty adds the third sweep's with the fourth
/// (gan/losses/block_sweeps.hpp).
bool ListCheck::is_added_later(const Instruction& at) const {
  const std::vector<Pass>& passes = phases_[static_cast<std::size_t>(at.phase)].passes;
  if (std::cmp_greater_equal(at.pass, passes.size()) ||
      std::cmp_greater_equal(at.node, passes[static_cast<std::size_t>(at.pass)].nodes.size())) {
    return false;  // check_work reports it
  }
  const auto* penalty =
      std::get_if<Penalty>(&node_of(passes[static_cast<std::size_t>(at.pass)], at.node));
  return penalty != nullptr && penalty->part && !penalty->part->goes_forward;
}

void ListCheck::check_leaves(int worker, std::int64_t step) {
  std::map<NetworkId, std::tuple<int, int, int>> open;  // phase, repeat and micro-batch
  std::map<NetworkId, int> closed;
  std::map<NetworkId, std::tuple<int, int, int>> last;  // of the leaf closed last, as `open`
  for (const Instruction& at : list(worker)) {
    const std::tuple place(at.phase, at.repeat, at.microbatch);
    const auto leaf = open.find(at.network);
    const bool is_its = leaf != open.end() && leaf->second == place;
    if (at.operation == Operation::kOpenLeaf && !open.emplace(at.network, place).second) {
      add(worker, at, "the leaf before it is open");
    } else if (at.operation == Operation::kCloseLeaf) {
      ++closed[at.network];
      if (!is_its) {
        add(worker, at, "it is not open");
      }
      const auto before = last.find(at.network);
      if (before != last.end() && place <= before->second) {
        add(worker, at, "leaves come in ascending order");
      }
      last.insert_or_assign(at.network, place);
      open.erase(at.network);
    } else if (at.adds() && !is_added_later(at) &&
               trains(phases_[static_cast<std::size_t>(at.phase)], at.network) && !is_its) {
      add(worker, at, "its leaf is not open");
    }
  }
  for (const NetworkId network : layout_.ids()) {
    const auto wanted = static_cast<int>(updates_of(network, step).size()) *
                        layout_[network].range_of(worker).size();
    if (closed[network] != wanted || open.contains(network)) {
      add(worker, names_[network],
          std::to_string(closed[network]) + " leaves are closed, of " + std::to_string(wanted));
    }
  }
}

void ListCheck::check_updates(int worker, std::int64_t step) {
  std::vector<std::tuple<int, int, NetworkId>> wanted;  // in all workers' common order
  for (const Phase& phase : phases_) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      for (const NetworkId network : phase.networks) {
        if (layout_[network].has(worker)) {
          wanted.emplace_back(phase.index, repeat, network);
        }
      }
    }
  }
  std::set<NetworkId> under_way;
  std::map<NetworkId, int> closed;
  auto next = wanted.begin();
  for (const Instruction& at : list(worker)) {
    if (at.operation == Operation::kAwait) {
      under_way.erase(at.network);
    } else if (at.operation == Operation::kCloseLeaf) {
      ++closed[at.network];
    } else if (at.uses_weights() && under_way.contains(at.network)) {
      add(worker, at, "its weights are not awaited");
    } else if (at.operation == Operation::kReduce) {
      if (next == wanted.end() || *next != std::tuple(at.phase, at.repeat, at.network)) {
        return add(worker, at, "it is not the next update");
      }
      ++next;
      under_way.insert(at.network);
      if (std::exchange(closed[at.network], 0) != layout_[at.network].range_of(worker).size()) {
        add(worker, at, "leaves are missing in it");
      }
    }
  }
  if (next != wanted.end()) {
    add(worker, names_[std::get<2>(*next)], "an update is missing");
  }
}

}  // namespace

std::vector<std::string> faults_of(const Lists& lists, const std::vector<Phase>& phases,
                                   const Layout& layout, std::int64_t step,
                                   const PerNetwork<std::string>& names) {
  ListCheck check(lists, phases, layout, names);
  check.check_messages();
  check.check_work(step);
  for (int worker = 0; worker < static_cast<int>(lists.size()); ++worker) {
    check.check_order(worker);
    check.check_leaves(worker, step);
    check.check_updates(worker, step);
  }
  return check.take();
}

void require_no_faults(const Lists& lists, const std::vector<Phase>& phases, const Layout& layout,
                       std::int64_t step, const PerNetwork<std::string>& names) {
  const std::vector<std::string> faults = faults_of(lists, phases, layout, step, names);
  if (!faults.empty()) {
    throw InvariantError(faults.front() + "; please report this");
  }
}

void require_sound_lists(const std::vector<Phase>& phases, const Layout& layout,
                         const PerNetwork<std::string>& names) {
  std::vector<PassShares> workers;
  for (int worker = 0; worker < layout.num_workers(); ++worker) {
    workers.emplace_back(phases, layout, worker);
  }
  const bool differ =
      std::ranges::any_of(phases, [](const Phase& one) { return one.interval > 1; });
  for (std::int64_t step = 0; step <= (differ ? 1 : 0); ++step) {
    require_no_faults(step_schedules(workers, step), phases, layout, step, names);
  }
}

}  // namespace gangway::pipeline
