// SPDX-License-Identifier: MIT
// A pass over one micro-batch while it is in work: its tensors, and how far it has come. Compute
// thread; used by worker/pass/pass_run.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gan/losses/penalty.hpp"
#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"
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
  /// By trained network, what was seen before the micro-batch's leaf was open.
  std::vector<std::pair<NetworkId, SeenStatistics>> seen;

  /// Whether this worker carries out the node at hand.
  [[nodiscard]] bool is_mine() const {
    return share == nullptr || share->mine[static_cast<std::size_t>(node)];
  }
  /// @throws InvariantError for a name that nothing has made
  [[nodiscard]] at::Tensor& value(const std::string& name);
  [[nodiscard]] std::vector<at::Tensor> values_of(const std::vector<std::string>& names);
  [[nodiscard]] gan::NamedTensors taken(const std::vector<pipeline::Input>& inputs);
  /// One more summand of the gradient of what is called `name`, as autograd would add it.
  void add_gradient(const std::string& name, const at::Tensor& gradient);
};

}  // namespace gangway::worker
