// SPDX-License-Identifier: MIT
#include "pipeline/phases.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

/// Whether `application` reads the weights of `network`.
bool is_applied(const Application& application, NetworkId network) {
  return application.network == network ||
         std::ranges::find(application.beside, network) != application.beside.end();
}

/// Whether `pass` gives gradients to `network`. @pre has_gradient is filled in
bool gives_gradients(const Pass& pass, NetworkId network) {
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    const auto* application = std::get_if<Application>(&pass.nodes[i]);
    const auto* penalty = std::get_if<Penalty>(&pass.nodes[i]);
    if ((application != nullptr && is_applied(*application, network) && pass.has_gradient[i]) ||
        (penalty != nullptr && penalty->network == network)) {
      return true;
    }
  }
  return false;
}

/// @throws InvariantError if the first nodes of `pass` differ from those it recalls, or either
/// phase does not run exactly once a step
void check_recall(const std::vector<Phase>& phases, const Phase& phase, const Pass& pass) {
  const auto& recall = pass.recall;
  if (!recall) {
    return;
  }
  const Phase& earlier = phases.at(static_cast<std::size_t>(recall->phase));
  const Pass& made = earlier.passes.at(static_cast<std::size_t>(recall->pass));
  const auto count = static_cast<std::size_t>(recall->nodes);
  const bool is_same =
      made.nodes.size() >= count && pass.nodes.size() >= count &&
      std::equal(pass.nodes.begin(), pass.nodes.begin() + recall->nodes, made.nodes.begin());
  if (!is_same || recall->phase >= phase.index || earlier.interval != 1 || phase.interval != 1 ||
      phase.repeats != 1) {
    throw InvariantError("pass " + pass.name + " of phase " + phase.name + " cannot begin as " +
                         made.name + " of phase " + earlier.name);
  }
}

}  // namespace

std::vector<Phase> completed(std::vector<Phase> phases) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    phases[i].index = static_cast<int>(i);
    for (Pass& pass : phases[i].passes) {
      check_recall(phases, phases[i], pass);
      pass.has_gradient = gradient_flow(pass, phases[i].networks);
    }
    for (const NetworkId network : phases[i].networks) {
      if (std::ranges::none_of(phases[i].passes, [network](const Pass& pass) {
            return gives_gradients(pass, network);
          })) {
        throw InvariantError("phase " + phases[i].name +
                             " has no loss on the network it trains, number " +
                             std::to_string(static_cast<int>(network)));
      }
    }
  }
  return phases;
}

int nodes_taken_up(const std::vector<Phase>& phases, int phase, int pass) {
  int count = 0;
  for (const Phase& later : phases) {
    for (const Pass& other : later.passes) {
      if (other.recall && other.recall->phase == phase && other.recall->pass == pass) {
        count = std::max(count, other.recall->nodes);
      }
    }
  }
  return count;
}

std::vector<std::string> pools_of(const std::vector<Phase>& phases) {
  std::vector<std::string> names;
  for (const Phase& phase : phases) {
    for (const Pass& pass : phase.passes) {
      for (const Node& node : pass.nodes) {
        const auto* pool = std::get_if<Pool>(&node);
        if (pool != nullptr && std::ranges::find(names, pool->name) == names.end()) {
          names.push_back(pool->name);
        }
      }
    }
  }
  return names;
}

bool trains(const Phase& phase, NetworkId network) {
  return std::ranges::find(phase.networks, network) != phase.networks.end();
}

int harvests_of(const Phase& phase, NetworkId network) {
  int count = 0;
  for (const Pass& pass : phase.passes) {
    count += static_cast<int>(std::ranges::count_if(pass.nodes, [network](const Node& node) {
      const auto* application = std::get_if<Application>(&node);
      const auto* penalty = std::get_if<Penalty>(&node);
      const bool is_first = application != nullptr &&
                            (!application->part || application->part->chunk == ChunkIndex());
      return (is_first && is_applied(*application, network)) ||
             (penalty != nullptr && penalty->network == network && penalty->harvests);
    }));
  }
  return trains(phase, network) ? count : 0;
}

double laziness_of(const std::vector<Phase>& phases, NetworkId network) {
  double updates = 0.0;  // per step, without phases of an interval above 1
  for (const Phase& phase : phases) {
    if (phase.interval == 1 && trains(phase, network)) {
      updates += phase.repeats;
    }
  }
  double factor = 1.0;
  for (const Phase& phase : phases) {
    if (phase.interval > 1 && trains(phase, network)) {
      const double between = updates * phase.interval;
      factor *= between / (between + 1.0);
    }
  }
  return factor;
}

}  // namespace gangway::pipeline
