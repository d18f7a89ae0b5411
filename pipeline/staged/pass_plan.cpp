// SPDX-License-Identifier: MIT
#include "pipeline/staged/pass_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace gangway::pipeline {
namespace {

/// Applications that a tensor is made of, through nodes without weights.
struct Sources {
  std::set<int> all;
  std::set<int> with_gradient;  ///< to which a gradient of the tensor goes back
};

void join(Sources& into, const Sources& other) {
  into.all.insert(other.all.begin(), other.all.end());
  into.with_gradient.insert(other.with_gradient.begin(), other.with_gradient.end());
}

bool stops_gradients(const Node& node) {
  const auto* function = std::get_if<Join>(&node);
  return std::holds_alternative<Pool>(node) ||
         (function != nullptr && function->function == kDetached);
}

std::vector<int> listed(const std::set<int>& values) { return {values.begin(), values.end()}; }

/// Writes the plans of one pass.
class Reader {
 public:
  Reader(const Phase& phase, const Pass& pass)
      : phase_(phase), pass_(pass), plans_(pass.nodes.size()) {}

  [[nodiscard]] std::vector<NodePlan> read() {
    for (int node = 0; node < static_cast<int>(pass_.nodes.size()); ++node) {
      visit(node);
    }
    for (NodePlan& plan : plans_) {
      const bool alone = plan.is_trained && plan.feeds.empty();
      plan.fills_forward = alone;
      plan.fills_backward = alone && plan.gradient_from.empty();
    }
    return plans_;
  }

 private:
  void visit(int index) {
    const Node& node = pass_.nodes[static_cast<std::size_t>(index)];
    Sources taken;
    for (const std::string& input : inputs_of(node)) {
      join(taken, made_of_[input]);
    }
    if (const auto* application = std::get_if<Application>(&node)) {
      begin(index, NodePlan::Kind::kApplication, application->network, taken);
      take_gradients(index, taken);
      taken = {{index}, {index}};
    } else if (const auto* penalty = std::get_if<Penalty>(&node)) {
      begin(index, NodePlan::Kind::kPenalty, penalty->network, taken);
    } else if (std::holds_alternative<Loss>(node)) {
      meet_in_loss(taken);
    } else if (stops_gradients(node)) {
      taken.with_gradient.clear();
    }
    for (const std::string& output : outputs_of(node)) {
      made_of_[output] = taken;
    }
  }

  void begin(int index, NodePlan::Kind kind, NetworkId network, const Sources& taken) {
    NodePlan& plan = plans_[static_cast<std::size_t>(index)];
    plan.kind = kind;
    plan.network = network;
    plan.is_recalled = pass_.recall && index < pass_.recall->nodes;
    plan.has_gradient =
        kind == NodePlan::Kind::kPenalty || pass_.has_gradient[static_cast<std::size_t>(index)];
    plan.is_trained = plan.has_gradient && trains(phase_, network);
    plan.feeds = listed(taken.all);
  }

  /// The gradients that `consumer` hands back.
  void take_gradients(int consumer, const Sources& taken) {
    for (const int maker : taken.with_gradient) {
      NodePlan& plan = plans_[static_cast<std::size_t>(maker)];
      if (plan.has_gradient && plans_[static_cast<std::size_t>(consumer)].has_gradient) {
        plan.gradient_from.push_back(consumer);
      }
    }
  }

  void meet_in_loss(const Sources& taken) {
    for (const int maker : taken.with_gradient) {
      std::vector<int>& with = plans_[static_cast<std::size_t>(maker)].losses_with;
      for (const int other : taken.all) {
        if (other != maker && std::ranges::find(with, other) == with.end()) {
          with.push_back(other);
        }
      }
    }
  }

  const Phase& phase_;
  const Pass& pass_;
  std::vector<NodePlan> plans_;
  std::map<std::string, Sources> made_of_;
};

}  // namespace

PassPlans plans_of(const std::vector<Phase>& phases) {
  PassPlans plans;
  for (const Phase& phase : phases) {
    plans.emplace_back();
    for (const Pass& pass : phase.passes) {
      plans.back().push_back(Reader(phase, pass).read());
    }
  }
  return plans;
}

int version_at(const std::vector<Phase>& phases, NetworkId network, int step, int phase,
               int repeat) {
  int updates = 0;
  for (const Phase& one : phases) {
    if (!trains(one, network)) {
      continue;
    }
    updates += (step + one.interval - 1) / one.interval * one.repeats;
    if (one.index == phase) {
      updates += repeat;
    } else if (one.index < phase && runs_in(one, step)) {
      updates += one.repeats;
    }
  }
  return updates;
}

}  // namespace gangway::pipeline
