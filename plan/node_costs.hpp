// SPDX-License-Identifier: MIT
// Derives costs of whole and cut networks from a profile: seconds, kernels and bytes of each node
// of a pass, block and bucket. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/profiles/profile.hpp"
#include "plan/staged_job.hpp"

namespace gangway::plan {

/// What one node of a pass costs for one micro-batch.
struct NodeCost {
  double forward_seconds = 0.0;   ///< penalty: its first two sweeps
  double backward_seconds = 0.0;  ///< penalty: its last two sweeps
  double inputs_share = 0.5;      ///< of backward_seconds, for the gradients of the inputs
  double forward_kernels = 0.0;   ///< GPU kernels: a lower bound from the blocks
  double backward_kernels = 0.0;
  std::int64_t kept_bytes = 0;    ///< from its forward to its backward; 0 without a backward
  std::int64_t output_bytes = 0;  ///< of its outputs, the inputs of the next nodes

  /// Return the seconds and kernels of `at`, a compute instruction of this node.
  [[nodiscard]] double seconds_of(const pipeline::Instruction& at) const;
  [[nodiscard]] double kernels_of(const pipeline::Instruction& at) const;

 private:
  /// Returns the part of the backward that `at` runs: inputs, weights, or 1 for both.
  [[nodiscard]] double share_of(const pipeline::Instruction& at) const;
};

/// What one block costs for one micro-batch in a step. A lazy phase counts 1/interval.
struct BlockLoad {
  double seconds = 0.0;
  std::int64_t cut_bytes = 0;   ///< that a stage sends on if the network is cut behind this block
  double cut_messages = 0.0;    ///< number of those messages and their gradients in a step
  std::int64_t held_bytes = 0;  ///< kept for backwards, summed over the passes of all phases
  std::int64_t parameters = 0;
};

/// One bucket of gradients that are reduced together.
struct BucketLoad {
  double elements = 0.0;
  double ready_share = 1.0;  ///< share of the last backward after which it is complete
};

/// Computes what nodes, blocks and buckets of a job cost under any layout.
class BlockCosts {
 public:
  /// @param phases  the uncut phases. All arguments outlive this object.
  BlockCosts(const JobSpec& job, const Profile& profile,
             const std::vector<pipeline::Phase>& phases);

  /// Costs, indexed by phase, pass and node of a StagedJob's phases.
  using Table = std::vector<std::vector<std::vector<NodeCost>>>;
  [[nodiscard]] Table table(const StagedJob& staged) const;
  [[nodiscard]] const std::vector<BlockLoad>& loads(NetworkId network) const {
    return loads_[network];
  }
  [[nodiscard]] int num_blocks(NetworkId network) const {
    return static_cast<int>(loads_[network].size());
  }
  /// Returns the buckets of the whole network, in the order in which they become ready.
  [[nodiscard]] std::vector<BucketLoad> buckets(NetworkId network) const;
  /// Returns the buckets of a chunk, `count` of them, sized as comm::BucketPlan cuts them.
  [[nodiscard]] std::vector<BucketLoad> chunk_buckets(NetworkId network, BlockRange blocks,
                                                      std::size_t count) const;
  /// Returns the share of `network`'s trained parameters that `blocks` have.
  [[nodiscard]] double share_of(NetworkId network, BlockRange blocks) const;

 private:
  /// The share of each block in one application of a network.
  struct Shares {
    std::vector<double> forward;
    std::vector<double> backward;
  };
  [[nodiscard]] Shares shares_of(const pipeline::Phase& phase, int pass, int node) const;
  [[nodiscard]] double seconds(pipeline::Operation operation, NetworkId network,
                               const pipeline::Phase& phase, int pass, int node) const;
  /// The node of the uncut pass that a node of a cut pass belongs to.
  struct WholeNode {
    int pass = 0;
    int node = 0;
  };
  [[nodiscard]] NodeCost application_cost(const StagedJob& staged, const pipeline::Phase& phase,
                                          const WholeNode& of, int node) const;
  [[nodiscard]] NodeCost penalty_cost(const StagedJob& staged, const pipeline::Phase& phase,
                                      const WholeNode& of, const pipeline::Penalty& penalty) const;
  [[nodiscard]] std::vector<NodeCost> pass_table(const StagedJob& staged,
                                                 const pipeline::Phase& phase, int pass) const;
  /// Returns the bytes of the tensors `live`: outputs of blocks up to `last`, or network inputs.
  [[nodiscard]] std::int64_t bytes_of(NetworkId network, const std::vector<std::string>& live,
                                      int last) const;
  void add_application(const pipeline::Phase& phase, int pass, int node);
  void add_cut_bytes();
  [[nodiscard]] double kernels_in(NetworkId network, BlockRange blocks) const;

  const JobSpec& job_;
  const Profile& profile_;
  const std::vector<pipeline::Phase>& phases_;
  PerNetwork<std::string> names_;
  PerNetwork<Architecture> architectures_;
  PerNetwork<std::vector<BlockCost>> blocks_;  // by block; zeros if not measured
  PerNetwork<std::vector<BlockLoad>> loads_;
};

/// Returns the cost of the node that `at` computes, sends or receives.
[[nodiscard]] inline const NodeCost& node_of(const BlockCosts::Table& table,
                                             const pipeline::Instruction& at) {
  return table[static_cast<std::size_t>(at.phase)][static_cast<std::size_t>(at.pass)]
              [static_cast<std::size_t>(at.node)];
}

}  // namespace gangway::plan
