// SPDX-License-Identifier: MIT
#include "pipeline/cut_phases.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "job/layout/stage_cuts.hpp"

namespace gangway::pipeline {
namespace {

struct CutNodes {
  std::vector<Node> nodes;
  std::vector<int> origins;  ///< by node: the node of the whole pass that it is a part of
};

/// Builds the cut form of a pass.
class CutPass {
 public:
  CutPass(const Pass& pass, const PerNetwork<NetworkCuts>& cuts) : pass_(pass), cuts_(cuts) {}

  [[nodiscard]] CutNodes cut();

 private:
  void add(const Application& application);
  /// @param name  prefix of the names of its parts' tensors in the pass
  void add(const Penalty& penalty, const std::string& name);
  /// Adds its first two sweeps, up the chunks. @return by chunk, its tensors from the chunk before
  std::vector<std::vector<Input>> add_forwards(const Penalty& penalty, const std::string& name);
  [[nodiscard]] Penalty part_of(const Penalty& penalty, ChunkIndex chunk) const;

  const Pass& pass_;
  const PerNetwork<NetworkCuts>& cuts_;
  std::set<std::string> grad_tensors_;  // tensors that a gradient goes back to
  std::vector<Node> nodes_;
};

CutNodes CutPass::cut() {
  std::vector<int> origins;
  for (std::size_t i = 0; i < pass_.nodes.size(); ++i) {
    const Node& node = pass_.nodes[i];
    if (const auto* application = std::get_if<Application>(&node);
        application != nullptr && cuts_[application->network].chunks.size() > 1) {
      add(*application);
    } else if (const auto* penalty = std::get_if<Penalty>(&node);
               penalty != nullptr && cuts_[penalty->network].chunks.size() > 1) {
      add(*penalty, "penalty" + std::to_string(i));
    } else {
      nodes_.push_back(node);
    }
    if (auto* running = std::get_if<Running>(&nodes_.back())) {
      running->chunk = cuts_[running->network].last();
    }
    origins.resize(nodes_.size(), static_cast<int>(i));
    const std::vector<std::string> outputs = outputs_of(node);
    if (pass_.has_gradient[i]) {
      grad_tensors_.insert(outputs.begin(), outputs.end());
    }
  }
  return {std::move(nodes_), std::move(origins)};
}

void CutPass::add(const Application& application) {
  const NetworkCuts& cuts = cuts_[application.network];
  std::vector<Input> inputs = application.inputs;
  const std::string whole = outputs_of(Node(application)).front();
  for (ChunkIndex chunk;; ++chunk) {
    Application part = application;
    part.inputs = inputs;
    part.part = ChunkPart{.chunk = chunk, .blocks = cuts.chunks[chunk.place()]};
    if (chunk == cuts.last()) {
      nodes_.emplace_back(std::move(part));
      return;
    }
    part.statistic.clear();
    part.harvests_signs = false;
    part.levels.clear();
    std::vector<Input> next;
    for (const std::string& name :
         cuts.live[static_cast<std::size_t>(cuts.chunks[chunk.place()].end) - 1]) {
      const auto input = std::ranges::find(application.inputs, name, &Input::name);
      if (input != application.inputs.end() && !grad_tensors_.contains(input->tensor) &&
          !cuts.is_made_by(chunk, name)) {
        next.push_back(*input);
        continue;
      }
      part.part->live.push_back(name);
      part.levels.push_back(whole + "." + std::to_string(chunk.value()) + "." + name);
      next.push_back({.name = name, .tensor = part.levels.back()});
    }
    inputs = std::move(next);
    nodes_.emplace_back(std::move(part));
  }
}

Penalty CutPass::part_of(const Penalty& penalty, ChunkIndex chunk) const {
  const NetworkCuts& cuts = cuts_[penalty.network];
  Penalty part = penalty;
  part.shown_with.reset();
  part.harvests = penalty.harvests && chunk == cuts.chunk_that_makes(penalty.inner_tensor);
  part.part = PenaltyPart{.chunk = chunk, .blocks = cuts.chunks[chunk.place()]};
  return part;
}

std::vector<std::vector<Input>> CutPass::add_forwards(const Penalty& penalty,
                                                      const std::string& name) {
  const NetworkCuts& cuts = cuts_[penalty.network];
  std::vector<std::vector<Input>> flowing;
  std::vector<Input> inputs = penalty.inputs;
  for (ChunkIndex chunk;; ++chunk) {
    Penalty part = part_of(penalty, chunk);
    part.inputs = inputs;
    part.part->goes_forward = true;
    flowing.emplace_back();
    if (chunk != ChunkIndex()) {
      std::ranges::copy_if(inputs, std::back_inserter(flowing.back()), [&](const Input& input) {
        return input.tensor.starts_with(name + ".");
      });
    }
    if (chunk == cuts.last()) {
      nodes_.emplace_back(std::move(part));
      return flowing;
    }
    inputs.clear();
    for (const std::string& live :
         cuts.live[static_cast<std::size_t>(cuts.chunks[chunk.place()].end) - 1]) {
      const auto input = std::ranges::find(penalty.inputs, live, &Input::name);
      // The penalised input goes through the chunks, as its gradient does. Other inputs need not.
      if (input != penalty.inputs.end() &&
          (input != penalty.inputs.begin() || !penalty.inner_tensor.empty()) &&
          !cuts.is_made_by(chunk, live)) {
        inputs.push_back(*input);
        continue;
      }
      inputs.push_back(
          {.name = live, .tensor = name + "." + std::to_string(chunk.value()) + "." + live});
      part.part->makes.push_back(inputs.back());
    }
    nodes_.emplace_back(std::move(part));
  }
}

void CutPass::add(const Penalty& penalty, const std::string& name) {
  const NetworkCuts& cuts = cuts_[penalty.network];
  const int last = cuts.last().value();
  const int first = cuts.chunk_that_makes(penalty.inner_tensor).value();
  const std::vector<std::vector<Input>> flowing = add_forwards(penalty, name);
  for (int chunk = last; chunk >= first; --chunk) {
    if (chunk < last) {
      Penalty part = part_of(penalty, ChunkIndex(chunk));
      part.inputs = std::get<Penalty>(nodes_.back()).part->makes;
      nodes_.emplace_back(std::move(part));
    }
    PenaltyPart& back = *std::get<Penalty>(nodes_.back()).part;
    back.goes_back = true;
    back.is_measured = chunk == first;
    for (const Input& one : flowing[static_cast<std::size_t>(chunk)]) {
      if (!back.is_measured) {
        back.makes.push_back({.name = one.name, .tensor = one.tensor + ".gradient"});
      }
    }
  }
  if (penalty.shown_with) {
    std::get<Penalty>(nodes_.back()).part->value = name;
    nodes_.emplace_back(Shown{.network = penalty.network,
                              .chunk = cuts.last(),
                              .input = name,
                              .shown_with = *penalty.shown_with});
  }
}

}  // namespace

bool NetworkCuts::is_made_by(ChunkIndex chunk, const std::string& tensor) const {
  return std::any_of(made.begin(), made.begin() + chunks[chunk.place()].end,
                     [&tensor](const std::vector<std::string>& of_block) {
                       return std::ranges::find(of_block, tensor) != of_block.end();
                     });
}

ChunkIndex NetworkCuts::chunk_that_makes(const std::string& tensor) const {
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (int block = chunks[chunk].begin; block < chunks[chunk].end; ++block) {
      const std::vector<std::string>& behind = live[static_cast<std::size_t>(block)];
      if (std::ranges::find(behind, tensor) != behind.end()) {
        return ChunkIndex(static_cast<int>(chunk));
      }
    }
  }
  return {};
}

PerNetwork<NetworkCuts> cuts_of(const Job& job, const Layout& layout) {
  PerNetwork<NetworkCuts> cuts;
  if (std::ranges::none_of(layout, &NetworkGroup::is_cut)) {
    for (std::size_t i = 0; i < job.networks.size(); ++i) {
      cuts.add({});
    }
    return cuts;
  }
  const PerNetwork<Architecture> architectures = job.architectures();
  for (const NetworkId network : job.networks.ids()) {
    const Architecture& architecture = architectures[network];
    cuts.add({.chunks = layout[network].chunks,
              .live = live_tensors(architecture),
              .made = made_tensors(architecture)});
  }
  return cuts;
}

std::vector<int> origins_of(const Pass& pass, const PerNetwork<NetworkCuts>& cuts) {
  return CutPass(pass, cuts).cut().origins;
}

std::vector<Phase> cut_phases(const std::vector<Phase>& phases,
                              const PerNetwork<NetworkCuts>& cuts) {
  if (std::ranges::all_of(cuts, [](const NetworkCuts& one) { return one.chunks.size() == 1; })) {
    return phases;
  }
  std::vector<Phase> result = phases;
  for (Phase& phase : result) {
    for (Pass& pass : phase.passes) {
      CutNodes cut = CutPass(pass, cuts).cut();
      if (pass.recall) {
        const auto end = std::ranges::lower_bound(cut.origins, pass.recall->nodes);
        pass.recall->nodes = static_cast<int>(end - cut.origins.begin());
      }
      pass.nodes = std::move(cut.nodes);
    }
  }
  return completed(std::move(result));
}

}  // namespace gangway::pipeline
