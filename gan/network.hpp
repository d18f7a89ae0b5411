// SPDX-License-Identifier: MIT
// A network is a list of blocks. Compute thread only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gan/block.hpp"
#include "job/layout/block_range.hpp"
#include "job/models/network_id.hpp"

namespace gangway::gan {

class Network {
 public:
  /// @param name    prefix of its tensors' names, e.g. "generator"
  /// @param output  name of the last block's result
  /// @param id      number of the network in the job; keys its initial values
  /// @param levels  names of the result tensors if there are several; replaces `output`
  Network(std::string name, std::vector<std::unique_ptr<Block>> blocks,
          std::string output = "features", NetworkId id = {}, std::vector<std::string> levels = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t num_blocks() const { return blocks_.size(); }
  [[nodiscard]] Block& block(std::size_t index) { return *blocks_[index]; }

  /// Runs one block in the context's precision and adds its index to the random key. Returns only
  /// the tensors that later blocks take, or the result. Tensors between blocks may have two bytes
  /// an element.
  [[nodiscard]] NamedTensors forward_block(std::size_t index, const NamedTensors& in,
                                           ForwardContext context);
  /// Runs all blocks and returns the last one's result, in float32 at least.
  [[nodiscard]] at::Tensor forward(NamedTensors in, const ForwardContext& context);
  /// Runs all blocks and returns all results, in the order of levels(); else the only result.
  [[nodiscard]] std::vector<at::Tensor> forward_levels(NamedTensors in,
                                                       const ForwardContext& context);
  /// Runs the blocks of a chunk (pipeline/cut_phases.hpp). Returns the inner tensors that `live`
  /// names, in their order; for the last chunk the network's results. A tensor that a growing
  /// network does not make at this level is undefined.
  [[nodiscard]] std::vector<at::Tensor> forward_chunk(BlockRange blocks,
                                                      const std::vector<std::string>& live,
                                                      NamedTensors in,
                                                      const ForwardContext& context);
  [[nodiscard]] const std::string& output() const { return output_; }
  /// Returns the names of its result tensors, in the order of forward_levels.
  [[nodiscard]] const std::vector<std::string>& levels() const { return levels_; }

  /// Sets the growth of its blocks (Job::growth_level). Before the first call the network is fully
  /// grown.
  void grow_to(double growth) { growth_ = growth; }
  [[nodiscard]] double growth() const { return growth_; }

  struct NamedParameter {
    std::string name;  ///< "generator/0/weight"; user's network: "generator/main.0.weight"
    Parameter* parameter;
    std::size_t block;  ///< its index in the network
  };
  struct NamedStatistic {
    std::string name;
    Statistic* statistic;
    std::size_t block;
  };
  /// Returns the tensors in module order, which is the order of the arena and of every norm.
  [[nodiscard]] std::vector<NamedParameter> parameters();
  [[nodiscard]] std::vector<NamedStatistic> statistics();

  /// Adds a statistic [1] to the last block, initially 0. It is the moving mean of a value that
  /// passes compute from the network's result (pipeline::Application::statistic).
  void keep_mean(const std::string& name, double momentum);
  /// Returns that statistic. @throws InvariantError if there is none
  [[nodiscard]] const Statistic& kept_mean(const std::string& name);
  /// Keeps the blocks of these numbers in fp32 when the network's precision is fp16.
  /// @param beside_bf16  whether also when it is bf16
  void keep_in_fp32(std::vector<std::size_t> blocks, bool beside_bf16) {
    fp32_blocks_ = std::move(blocks);
    is_fp32_beside_bf16_ = beside_bf16;
  }

  /// Returns the device of its tensors.
  [[nodiscard]] at::Device device();

  /// Draws the initial values, keyed by (seed, network, position): the same on every worker.
  void initialise(std::uint64_t seed);

 private:
  [[nodiscard]] std::string prefix_of(std::size_t block) const;
  [[nodiscard]] Precision precision_of(std::size_t block, Precision wanted) const;

  std::string name_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::string output_;
  std::vector<std::string> levels_;
  NetworkId id_;
  double growth_ = kFullyGrown;
  std::vector<std::size_t> fp32_blocks_;  // if the precision is fp16
  bool is_fp32_beside_bf16_ = false;
  std::vector<std::vector<std::string>> live_;  // by block: names of the tensors it outputs
};

}  // namespace gangway::gan
