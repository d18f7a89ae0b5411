// SPDX-License-Identifier: MIT
// The order of `fill`, judged by the waiting time of workers with equal costs of work.
#include "pipeline/stages/fill_order.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/stages/piece_graph.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using Lists = std::vector<std::vector<Instruction>>;

/// A GAN in which each of `workers` holds a chunk of each network.
struct StagedGan {
  JobSpec job;
  Layout layout;
  std::vector<Phase> phases;

  StagedGan(int microbatches, int stages, int workers) {
    job.training.microbatches = microbatches;
    job.layout.stages = stages;
    layout = resolve_layout(job, workers);
    phases = cut_phases(gan::adversarial_phases(job), cuts_of(job, layout));
  }
  [[nodiscard]] Lists lists(StageOrder order) const {
    std::vector<PassShares> shares;
    Layout ordered = layout;
    ordered.schedule = order;
    for (int worker = 0; worker <= layout.begin()->workers.back(); ++worker) {
      shares.emplace_back(phases, ordered, worker);
    }
    return step_schedules(shares, 0);
  }
};

/// Costs: a forward 1, a backward for inputs 1, a backward for weights 1.
double time_of(const Instruction& one) {
  const bool trains = (one.phase == 0) == (one.network == NetworkId{1});
  return one.operation == Operation::kForward ? 1.0
         : one.operation == Operation::kBackward
             ? (trains && one.part == BackwardPart::kWhole ? 2.0 : 1.0)
             : 0.0;
}

/// Replays the lists of workers with both networks: only computation takes time.
class Replay {
 public:
  explicit Replay(const Lists& lists)
      : lists_(lists), at_(lists.size()), now_(lists.size()), begun_(lists.size()) {}

  /// Returns the workers' share of time in waits, until all lists are done.
  double waiting_share() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
        for (; at_[worker] < lists_[worker].size() && performs(worker); ++at_[worker]) {
          moved = true;
        }
      }
    }
    return 1.0 - work_ / (*std::ranges::max_element(now_) * static_cast<double>(lists_.size()));
  }

 private:
  using Message = std::tuple<std::size_t, std::size_t, bool, int, int, int, int>;

  /// Performs the worker's next instruction, if it can start. Returns whether it did.
  bool performs(std::size_t worker) {
    const Instruction& one = lists_[worker][at_[worker]];
    if (one.peer >= 0) {
      return crosses(worker, static_cast<std::size_t>(one.peer), one);
    }
    if (one.operation == Operation::kReduce) {
      auto& [count, last] = reduced_[{one.network, ++begun_[worker][one.network]}];
      ++count;
      last = std::max(last, now_[worker]);
    } else if (one.operation == Operation::kAwait && begun_[worker][one.network] > 0) {
      const auto& [count, last] = reduced_[{one.network, begun_[worker][one.network]}];
      if (count < lists_.size()) {
        return false;
      }
      now_[worker] = std::max(now_[worker], last);
    }
    now_[worker] += time_of(one);
    work_ += time_of(one);
    return true;
  }

  bool crosses(std::size_t worker, std::size_t peer, const Instruction& one) {
    const bool is_gradient = one.carries_gradient();
    if (one.is_send()) {
      sent_[{worker, peer, is_gradient, one.phase, one.pass, one.microbatch, one.node}] =
          now_[worker];
      return true;
    }
    const auto found =
        sent_.find({peer, worker, is_gradient, one.phase, one.pass, one.microbatch, one.node});
    if (found == sent_.end()) {
      return false;
    }
    now_[worker] = std::max(now_[worker], found->second);
    return true;
  }

  const Lists& lists_;
  std::vector<std::size_t> at_;
  std::vector<double> now_;
  std::vector<std::map<NetworkId, int>> begun_;  // updates that have begun
  std::map<std::pair<NetworkId, int>, std::pair<std::size_t, double>> reduced_;
  std::map<Message, double> sent_;
  double work_ = 0.0;
};

double waiting_share(const Lists& lists) { return Replay(lists).waiting_share(); }

TEST(FillOrder, LosesLessThanOtherOrders) {
  for (const auto& [microbatches, stages, workers] :
       {std::tuple{8, 2, 2}, {16, 2, 2}, {8, 4, 4}, {16, 4, 8}}) {
    const StagedGan cut(microbatches, stages, workers);
    const double filled = waiting_share(cut.lists(StageOrder::kFill));
    EXPECT_LT(filled, waiting_share(cut.lists(StageOrder::kByPhase)))
        << microbatches << " micro-batches, " << stages << " stages";
    EXPECT_LE(filled, waiting_share(cut.lists(StageOrder::kOneForwardOneBackward)))
        << microbatches << " micro-batches, " << stages << " stages";
  }
}

TEST(FillOrder, LosesLessYetWhereWeightsComeApart) {
  for (const auto& [microbatches, stages] : {std::pair{2, 2}, {4, 2}, {4, 4}, {8, 4}}) {
    const StagedGan cut(microbatches, stages, stages);
    EXPECT_LT(waiting_share(cut.lists(StageOrder::kZeroBubble)),
              waiting_share(cut.lists(StageOrder::kFill)))
        << microbatches << " micro-batches, " << stages << " stages";
  }
}

TEST(FillOrder, KeepsWhoSharesAWholeNetworkAtWorkFromTheBeginning) {
  StagedGan gan(8, 2, 2);
  gan.job.placement("discriminator").cuts = std::vector<int>{};  // whole on each worker
  gan.layout = resolve_layout(gan.job, 2);
  gan.phases = cut_phases(gan::adversarial_phases(gan.job), cuts_of(gan.job, gan.layout));
  EXPECT_LT(waiting_share(gan.lists(StageOrder::kFill)), 0.1);
}

TEST(FillOrder, GoesAheadOnlyWithWhatTheUnitsUpdatesDoNotChange) {
  const StagedGan cut(8, 2, 2);
  bool goes_ahead = false;
  for (const std::vector<Instruction>& list : cut.lists(StageOrder::kFill)) {
    std::set<NetworkId> is_updated;
    for (const Instruction& one : list) {
      if (one.operation == Operation::kReduce) {
        is_updated.insert(one.network);
      }
      const bool is_early = one.phase == 1 && one.operation == Operation::kForward &&
                            !is_updated.contains(NetworkId{1});
      EXPECT_FALSE(is_early && one.network == NetworkId{1}) << "of micro-batch " << one.microbatch;
      goes_ahead = goes_ahead || is_early;
    }
  }
  EXPECT_TRUE(goes_ahead);
}

TEST(FillOrder, WhereNewWeightsAreAwaitedAtOnceNothingIsLeftForLater) {
  // An instruction after its unit's end would wait for other workers, and they for it: a deadlock.
  const StagedGan cut(8, 2, 2);
  std::vector<StageUnit> units;
  for (const Phase& phase : cut.phases) {
    units.push_back({.phase = &phase, .segments = backward_segments(phase, cut.layout)});
  }
  for (const std::vector<StagePiece>& pieces :
       fill_order(cut.layout, units, {.awaits_at_once = true})) {
    bool is_over = false;
    for (const StagePiece& piece : pieces) {
      is_over = is_over || (piece.kind == StagePiece::Kind::kEnd && piece.unit == 0);
      if (is_over && piece.unit == 1 && piece.kind == StagePiece::Kind::kForward) {
        const Pass& pass = cut.phases[1].passes[static_cast<std::size_t>(piece.pass)];
        EXPECT_GE(piece.index, nodes_ahead(cut.phases[1], pass, cut.phases[0]));
      }
    }
  }
}

}  // namespace
}  // namespace gangway::pipeline
