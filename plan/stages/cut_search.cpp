// SPDX-License-Identifier: MIT
#include "plan/stages/cut_search.hpp"

#include <algorithm>
#include <limits>

#include "job/layout/stage_cuts.hpp"

namespace gangway::plan {
namespace {

/// Computes the cost of any run of a chain's blocks.
class Runs {
 public:
  explicit Runs(const ChainCosts& chain) : ends_(chain.ends) {
    prefix_sums_.push_back(0.0);
    for (const double block : chain.blocks) {
      prefix_sums_.push_back(prefix_sums_.back() + block);
    }
  }
  [[nodiscard]] int size() const { return static_cast<int>(prefix_sums_.size()) - 1; }
  /// Returns the cost of blocks [begin, end) and of the cuts at both ends.
  [[nodiscard]] double cost(int begin, int end) const {
    return prefix_sums_[static_cast<std::size_t>(end)] -
           prefix_sums_[static_cast<std::size_t>(begin)] + end_cost(begin) + end_cost(end);
  }

 private:
  [[nodiscard]] double end_cost(int at) const {
    return at == 0 || at == size() ? 0.0 : ends_[static_cast<std::size_t>(at) - 1];
  }
  std::vector<double> prefix_sums_;
  std::vector<double> ends_;
};

struct Best {
  double dearest = std::numeric_limits<double>::infinity();
  int first = 0;   ///< begin of the last stage in the first chain
  int second = 0;  ///< begin of the last stage in the second chain
};

/// Cuts two chains at once: one chain's small run makes up for the other's large run.
class PairSearch {
 public:
  PairSearch(const ChainCosts& first, const ChainCosts& second, int stages)
      : first_(first), second_(second), stages_(stages) {
    table_.assign(static_cast<std::size_t>(stages + 1),
                  std::vector<Best>(static_cast<std::size_t>((first_.size() + 1) * width())));
    at(0, 0, 0).dearest = 0.0;
    for (int stage = 1; stage <= stages; ++stage) {
      for (int i = stage; i <= first_.size(); ++i) {
        for (int j = stage; j <= second_.size(); ++j) {
          at(stage, i, j) = best(stage, i, j);
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::vector<int>> cuts() {
    std::vector<std::vector<int>> cuts(2);
    int i = first_.size();
    int j = second_.size();
    for (int stage = stages_; stage > 1; --stage) {
      const Best& here = at(stage, i, j);
      i = here.first;
      j = here.second;
      cuts[0].insert(cuts[0].begin(), i);
      cuts[1].insert(cuts[1].begin(), j);
    }
    return cuts;
  }

 private:
  [[nodiscard]] int width() const { return second_.size() + 1; }
  [[nodiscard]] Best& at(int stage, int i, int j) {
    return table_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(i * width() + j)];
  }
  [[nodiscard]] Best best(int stage, int i, int j) {
    Best found;
    for (int a = stage - 1; a < i; ++a) {
      for (int b = stage - 1; b < j; ++b) {
        const double dearest =
            std::max(at(stage - 1, a, b).dearest, first_.cost(a, i) + second_.cost(b, j));
        if (dearest < found.dearest) {
          found = {dearest, a, b};
        }
      }
    }
    return found;
  }

  Runs first_;
  Runs second_;
  int stages_;
  std::vector<std::vector<Best>> table_;  // by stages, then ends
};

/// Returns the chain in reverse order.
ChainCosts reversed(const ChainCosts& chain) {
  ChainCosts turned{.blocks = {chain.blocks.rbegin(), chain.blocks.rend()}, .ends = {}};
  // A cut behind block i of the reversed chain is a cut before original block n - 1 - i.
  for (std::size_t i = 1; i < chain.ends.size(); ++i) {
    turned.ends.push_back(chain.ends[chain.ends.size() - 1 - i]);
  }
  turned.ends.push_back(0.0);
  return turned;
}

std::vector<int> starts_of(const std::vector<int>& ends) { return {ends.begin(), ends.end() - 1}; }

}  // namespace

std::vector<std::vector<int>> best_cuts(const std::vector<ChainCosts>& chains, int stages) {
  if (chains.size() == 2) {
    return PairSearch(chains[0], chains[1], stages).cuts();
  }
  // Pairs a single chain with a chain of free blocks; cuts each of several chains alone.
  std::vector<std::vector<int>> cuts;
  for (const ChainCosts& chain : chains) {
    if (chains.size() == 1) {
      const auto blocks = static_cast<std::size_t>(stages);
      cuts.push_back(PairSearch(chain, {std::vector(blocks, 0.0), std::vector(blocks, 0.0)}, stages)
                         .cuts()
                         .front());
    } else {
      cuts.push_back(starts_of(balanced_ends(chain.blocks, stages)));
    }
  }
  return cuts;
}

std::vector<std::vector<int>> cuts_alone(const std::vector<ChainCosts>& chains, int stages) {
  std::vector<std::vector<int>> cuts;
  for (const ChainCosts& chain : chains) {
    cuts.push_back(best_cuts({chain}, stages).front());
  }
  return cuts;
}

std::vector<std::vector<int>> cuts_by(const BlockCosts& costs, const CutQuestion& question) {
  std::vector<ChainCosts> chains;
  for (const NetworkId id : question.networks) {
    ChainCosts& chain = chains.emplace_back();
    for (const BlockLoad& load : costs.loads(id)) {
      const bool is_time = question.goal == CutGoal::kTime;
      const double bytes = static_cast<double>(load.parameters * 4) * question.weights_factor +
                           static_cast<double>(load.held_bytes) * question.microbatches;
      chain.blocks.push_back(is_time ? load.seconds : bytes);
      chain.ends.push_back(is_time ? static_cast<double>(load.cut_bytes) * load.cut_messages *
                                         question.seconds_per_byte
                                   : 0.0);
    }
  }
  if (question.is_per_network) {
    return cuts_alone(chains, question.stages);
  }
  const bool is_turned = question.placement == StagePlacement::kV && chains.size() == 2;
  if (is_turned) {
    chains.back() = reversed(chains.back());
  }
  std::vector<std::vector<int>> cuts = best_cuts(chains, question.stages);
  if (is_turned) {
    std::ranges::reverse(cuts.back());
    for (int& first : cuts.back()) {
      first = static_cast<int>(chains.back().blocks.size()) - first;
    }
  }
  return cuts;
}

}  // namespace gangway::plan
