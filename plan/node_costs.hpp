// SPDX-License-Identifier: MIT
// What a profile says of the instructions of workers that hold chunks of networks: seconds and
// bytes of each node of the cut passes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/profiles/profile.hpp"
#include "plan/staged_job.hpp"

namespace gangway::plan {

/// Of one micro-batch.
struct NodeCost {
  double forward_seconds = 0.0;   ///< of a penalty: its first two sweeps
  double backward_seconds = 0.0;  ///< its last two
  double inputs_share = 0.5;      ///< of those, for the gradients of what a chunk takes
  double forward_kernels = 0.0;   ///< that a GPU is given to do, as far as blocks tell
  double backward_kernels = 0.0;
  std::int64_t kept_bytes = 0;    ///< from its forward to its backward; 0 where it has none
  std::int64_t output_bytes = 0;  ///< of its outputs, which the next nodes take

  /// Of an instruction that computes.
  [[nodiscard]] double seconds_of(const pipeline::Instruction& at) const;
  [[nodiscard]] double kernels_of(const pipeline::Instruction& at) const;

 private:
  /// Of what goes back.
  [[nodiscard]] double share_of(const pipeline::Instruction& at) const;
};

/// Of a network's blocks, what one micro-batch costs in a step, lazy phases by their share.
struct BlockLoad {
  double seconds = 0.0;
  std::int64_t cut_bytes = 0;   ///< that flow out of it, where the network would be cut behind it
  double cut_messages = 0.0;    ///< how often they and their gradients do, in a step
  std::int64_t held_bytes = 0;  ///< kept for the backwards of a phase: the most of any phase
  std::int64_t parameters = 0;
};

/// Of what is reduced together, one bucket of several.
struct BucketLoad {
  double elements = 0.0;
  double ready_share = 1.0;  ///< of the last backward, behind which it is complete
};

/// Costs of a job's blocks, ready to be looked up for many layouts.
class BlockCosts {
 public:
  /// @param phases  not cut; all outlive this
  BlockCosts(const JobSpec& job, const Profile& profile,
             const std::vector<pipeline::Phase>& phases);

  /// By phase, pass and node of `staged`'s phases.
  using Table = std::vector<std::vector<std::vector<NodeCost>>>;
  [[nodiscard]] Table table(const StagedJob& staged) const;
  [[nodiscard]] const std::vector<BlockLoad>& loads(NetworkId network) const {
    return loads_[network];
  }
  [[nodiscard]] int num_blocks(NetworkId network) const {
    return static_cast<int>(loads_[network].size());
  }
  /// In the order in which they become ready.
  [[nodiscard]] std::vector<BucketLoad> buckets(NetworkId network) const;
  /// Of a chunk that has about so many: as comm::BucketPlan cuts it.
  [[nodiscard]] std::vector<BucketLoad> chunk_buckets(NetworkId network, BlockRange blocks,
                                                      std::size_t count) const;
  /// The share of `network`'s trained numbers that is in `blocks`.
  [[nodiscard]] double share_of(NetworkId network, BlockRange blocks) const;

 private:
  /// One application of a network by its blocks.
  struct Shares {
    std::vector<double> forward;
    std::vector<double> backward;
  };
  [[nodiscard]] Shares shares_of(const pipeline::Phase& phase, int pass, int node) const;
  [[nodiscard]] double seconds(pipeline::Operation operation, NetworkId network,
                               const pipeline::Phase& phase, int pass, int node) const;
  /// Of a node of a cut pass, the one of the whole pass that it is a part of.
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
  /// Bytes of the tensors named `live`, as the blocks up to `last` make them.
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
  PerNetwork<std::vector<BlockCost>> blocks_;  // by number; zeros where none was measured
  PerNetwork<std::vector<BlockLoad>> loads_;
};

}  // namespace gangway::plan
