// SPDX-License-Identifier: MIT
#include "pipeline/cut_phases.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

/// The pass with its applications cut, and where its nodes have gone.
class CutPass {
 public:
  CutPass(const Pass& pass, const PerNetwork<NetworkCuts>& cuts) : pass_(pass), cuts_(cuts) {}

  [[nodiscard]] std::vector<Node> nodes();
  /// How many of the new nodes stand for the first `count` old ones.
  [[nodiscard]] static int count_of(const std::vector<Node>& nodes, int count,
                                    const PerNetwork<NetworkCuts>& cuts);

 private:
  void add(const Application& application);

  const Pass& pass_;
  const PerNetwork<NetworkCuts>& cuts_;
  std::set<std::string> flowing_;  // tensors that a gradient goes back to
  std::vector<Node> nodes_;
};

std::vector<Node> CutPass::nodes() {
  for (std::size_t i = 0; i < pass_.nodes.size(); ++i) {
    const Node& node = pass_.nodes[i];
    if (const auto* application = std::get_if<Application>(&node);
        application != nullptr && cuts_[application->network].chunks.size() > 1) {
      add(*application);
    } else {
      nodes_.push_back(node);
    }
    if (auto* running = std::get_if<Running>(&nodes_.back())) {
      running->chunk = static_cast<int>(cuts_[running->network].chunks.size()) - 1;
    }
    const std::vector<std::string> outputs = outputs_of(node);
    if (pass_.has_gradient[i]) {
      flowing_.insert(outputs.begin(), outputs.end());
    }
  }
  return std::move(nodes_);
}

void CutPass::add(const Application& application) {
  const NetworkCuts& cuts = cuts_[application.network];
  std::vector<Input> inputs = application.inputs;
  const std::string whole = outputs_of(Node(application)).front();
  for (std::size_t chunk = 0; chunk < cuts.chunks.size(); ++chunk) {
    Application part = application;
    part.inputs = inputs;
    part.part = ChunkPart{.chunk = static_cast<int>(chunk), .blocks = cuts.chunks[chunk]};
    if (chunk + 1 == cuts.chunks.size()) {
      nodes_.emplace_back(std::move(part));
      return;
    }
    part.statistic.clear();
    part.harvests_signs = false;
    part.levels.clear();
    std::vector<Input> next;
    for (const std::string& name :
         cuts.live[static_cast<std::size_t>(cuts.chunks[chunk].end) - 1]) {
      const auto input = std::ranges::find(application.inputs, name, &Input::name);
      if (input != application.inputs.end() && !flowing_.contains(input->tensor)) {
        next.push_back(*input);
        continue;
      }
      part.part->live.push_back(name);
      part.levels.push_back(fmt::format("{}.{}.{}", whole, chunk, name));
      next.push_back({.name = name, .tensor = part.levels.back()});
    }
    inputs = std::move(next);
    nodes_.emplace_back(std::move(part));
  }
}

int CutPass::count_of(const std::vector<Node>& nodes, int count,
                      const PerNetwork<NetworkCuts>& cuts) {
  int result = 0;
  for (const Node& node : nodes | std::views::take(count)) {
    const auto* application = std::get_if<Application>(&node);
    result +=
        application == nullptr ? 1 : static_cast<int>(cuts[application->network].chunks.size());
  }
  return result;
}

/// @throws ConfigError
void require_whole(const Phase& phase, const Penalty& penalty,
                   const PerNetwork<NetworkCuts>& cuts) {
  if (cuts[penalty.network].chunks.size() > 1) {
    throw ConfigError(fmt::format(
        "phase {}: penalty {} looks at a network as a whole, and the layout cuts it; keep that "
        "network whole (layout.cuts), or use layout.stages 1",
        phase.name, penalty.function));
  }
}

}  // namespace

std::vector<Phase> cut_phases(const std::vector<Phase>& phases,
                              const PerNetwork<NetworkCuts>& cuts) {
  std::vector<Phase> result = phases;
  for (Phase& phase : result) {
    for (Pass& pass : phase.passes) {
      for (const Node& node : pass.nodes) {
        if (const auto* penalty = std::get_if<Penalty>(&node)) {
          require_whole(phase, *penalty, cuts);
        }
      }
      if (pass.recall) {
        pass.recall->nodes = CutPass::count_of(pass.nodes, pass.recall->nodes, cuts);
      }
      pass.nodes = CutPass(pass, cuts).nodes();
    }
  }
  return completed(std::move(result));
}

}  // namespace gangway::pipeline
