// SPDX-License-Identifier: MIT
// State of a pass over one micro-batch: its tensors and its progress. Used by
// worker/pass/pass_run.hpp. Compute thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gan/block_checkpoints.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"
#include "worker/pass/split_backward.hpp"
#include "worker/state/statistic_sinks.hpp"

namespace gangway::worker {

struct PassWork {
  /// A tensor of the pass.
  struct Value {
    std::string name;
    at::Tensor tensor;  ///< input of other nodes: a leaf if it has a gradient
  };

  pipeline::Instruction at;  ///< names the phase, repeat, pass and micro-batch
  const pipeline::Pass* pass = nullptr;
  const pipeline::PassShare* share = nullptr;  ///< null: the whole pass is this worker's
  int remaining = 0;                           ///< instructions of the share still to come
  bool has_turned = false;                     ///< backward has begun
  int node = 0;               ///< current: forward done before it, or backward after it
  int num_kept = 0;           ///< the pass's first nodes whose results are kept
  std::vector<Value> values;  ///< in order of creation
  std::vector<std::vector<at::Tensor>> made;  ///< by node: with their graph, until its backward
  std::unique_ptr<gan::BlockwisePenalty> penalty;  ///< set between its two instructions
  /// Images and their augmented version, with the graph between them, if the pass's penalty
  /// differentiates through the augmentation.
  std::pair<at::Tensor, at::Tensor> through;
  /// By node: applications that keep the tensors between blocks (layout.recompute).
  std::map<int, gan::BlockCheckpoints> checkpoints;
  std::map<int, SplitBackward> split;  ///< by node: backwards without their weights' part yet
  std::map<std::string, at::Tensor> figures;  ///< returned by a method of the job's own step
  /// By trained network: statistics seen before the micro-batch's leaf was opened.
  std::vector<std::pair<NetworkId, SeenStatistics>> seen;

  /// Returns whether this worker runs the current node.
  [[nodiscard]] bool is_mine() const {
    return share == nullptr || share->mine[static_cast<std::size_t>(node)];
  }
  /// Returns whether a tensor is here; in a share another worker may hold it.
  [[nodiscard]] bool has(const std::string& name) const;
  /// @throws InvariantError for a name that nothing has made
  [[nodiscard]] at::Tensor& value(const std::string& name);
  [[nodiscard]] std::vector<at::Tensor> values_of(const std::vector<std::string>& names);
  /// Returns the inputs by name, without those that a growing network did not make.
  [[nodiscard]] gan::NamedTensors taken(const std::vector<pipeline::Input>& inputs);
  /// Adds `gradient` to the gradient of tensor `name`, as autograd would.
  void add_gradient(const std::string& name, const at::Tensor& gradient);
};

/// Holds the passes in work: one if this worker runs whole passes; one per micro-batch if they are
/// computed side by side; any number with shares.
class PassWorks {
 public:
  /// Borrows both. @param shares  null: all is this worker's
  PassWorks(const std::vector<pipeline::Phase>& phases, const pipeline::PassShares* shares)
      : phases_(phases), shares_(shares) {}

  /// Returns the pass of instruction `at`; begins it at its first instruction.
  [[nodiscard]] PassWork& enter(const pipeline::Instruction& at);
  /// Keeps a micro-batch's pass in work after a pass of another one begins.
  void keep_microbatches() { keeps_microbatches_ = true; }
  /// Drops all passes in work.
  void clear() { works_.clear(); }
  /// Counts a performed instruction of `work`; drops a share after its last one.
  void leave(const PassWork& work);
  /// Hands the statistics that passes saw early, not handed on yet, to the leaf of `at`.
  void give_seen(const pipeline::Instruction& at, gan::StatisticSink& sink);

 private:
  /// Repeat, phase, micro-batch and pass: the order in which works are visited.
  using Key = std::tuple<int, int, int, int>;
  [[nodiscard]] static Key key_of(const pipeline::Instruction& at);

  const std::vector<pipeline::Phase>& phases_;
  const pipeline::PassShares* shares_;
  bool keeps_microbatches_ = false;
  std::map<Key, PassWork> works_;
};

}  // namespace gangway::worker
