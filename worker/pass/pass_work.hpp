// SPDX-License-Identifier: MIT
// A pass over one micro-batch while it is in work: its tensors, and how far it has come. Compute
// thread; used by worker/pass/pass_run.hpp.
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
    at::Tensor tensor;  ///< what other nodes take: a leaf where it has a gradient
  };

  pipeline::Instruction at;  ///< its phase, repeat, pass and micro-batch are those in work
  const pipeline::Pass* pass = nullptr;
  const pipeline::PassShare* share = nullptr;  ///< null: all of it is this worker's
  int remaining = 0;                           ///< instructions of a share that have not come
  bool has_turned = false;                     ///< backward has begun
  int node = 0;               ///< at hand; before it all is carried out, or after it all backward
  int num_kept = 0;           ///< of the pass's first nodes
  std::vector<Value> values;  ///< in the order of their making
  std::vector<std::vector<at::Tensor>> made;  ///< by node: with their graph, until its backward
  std::unique_ptr<gan::BlockwisePenalty> penalty;  ///< between its two instructions
  /// Images and, with a graph from there, what they were augmented to, where the pass's penalty
  /// looks through that.
  std::pair<at::Tensor, at::Tensor> through;
  /// By node: applications of which what flows between blocks is kept (layout.recompute).
  std::map<int, gan::BlockCheckpoints> checkpoints;
  std::map<int, SplitBackward> split;  ///< by node: whose weights' gradients are still to come
  std::map<std::string, at::Tensor> figures;  ///< that a method of the job's own step has returned
  /// By trained network, what was seen before the micro-batch's leaf was open.
  std::vector<std::pair<NetworkId, SeenStatistics>> seen;

  /// Whether this worker carries out the node at hand.
  [[nodiscard]] bool is_mine() const {
    return share == nullptr || share->mine[static_cast<std::size_t>(node)];
  }
  /// Whether a tensor is here: of a share another worker may have it.
  [[nodiscard]] bool has(const std::string& name) const;
  /// @throws InvariantError for a name that nothing has made
  [[nodiscard]] at::Tensor& value(const std::string& name);
  [[nodiscard]] std::vector<at::Tensor> values_of(const std::vector<std::string>& names);
  /// Without those that a network that grows did not make.
  [[nodiscard]] gan::NamedTensors taken(const std::vector<pipeline::Input>& inputs);
  /// One more summand of the gradient of what is called `name`, as autograd would add it.
  void add_gradient(const std::string& name, const at::Tensor& gradient);
};

/// All that are in work: one where this worker does whole passes, or one of each micro-batch where
/// they are computed beside one another; else any number.
class PassWorks {
 public:
  /// Borrows both. @param shares  null: all is this worker's
  PassWorks(const std::vector<pipeline::Phase>& phases, const pipeline::PassShares* shares)
      : phases_(phases), shares_(shares) {}

  /// The pass that `at` is an instruction of; begins it where it is the first.
  [[nodiscard]] PassWork& enter(const pipeline::Instruction& at);
  /// From now on a pass of one micro-batch goes on though one of another has begun.
  void keep_microbatches() { keeps_microbatches_ = true; }
  /// Nothing of what has begun goes on.
  void clear() { works_.clear(); }
  /// An instruction of `work` is carried out: a share whose last one it was is let go of.
  void leave(const PassWork& work);
  /// Hands to the leaf of `at` what its passes have seen ahead of it and not given yet.
  void give_seen(const pipeline::Instruction& at, gan::StatisticSink& sink);

 private:
  /// Repeat, phase, micro-batch and pass: works are gone through in this order.
  using Key = std::tuple<int, int, int, int>;
  [[nodiscard]] static Key key_of(const pipeline::Instruction& at);

  const std::vector<pipeline::Phase>& phases_;
  const pipeline::PassShares* shares_;
  bool keeps_microbatches_ = false;
  std::map<Key, PassWork> works_;
};

}  // namespace gangway::worker
