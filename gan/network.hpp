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
  /// @param name    "generator": the prefix of its tensors' names
  /// @param output  the name under which the last block leaves the result
  /// @param id      its number in the job, which keys its initial values
  /// @param levels  names of the tensors that are its result instead, where it makes several
  Network(std::string name, std::vector<std::unique_ptr<Block>> blocks,
          std::string output = "features", NetworkId id = {}, std::vector<std::string> levels = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t num_blocks() const { return blocks_.size(); }
  [[nodiscard]] Block& block(std::size_t index) { return *blocks_[index]; }

  /// Runs one block, in the context's precision; its index becomes part of the key. Returns what
  /// later blocks take, or the result; nothing else goes along. Tensors between blocks may have two
  /// bytes an element.
  [[nodiscard]] NamedTensors forward_block(std::size_t index, const NamedTensors& in,
                                           ForwardContext context);
  /// Runs all blocks; the result of the last, in float32 at least.
  [[nodiscard]] at::Tensor forward(NamedTensors in, const ForwardContext& context);
  /// The same of a network that makes several tensors, in their order; of any other its one.
  [[nodiscard]] std::vector<at::Tensor> forward_levels(NamedTensors in,
                                                       const ForwardContext& context);
  /// Runs the blocks of a chunk (pipeline/cut_phases.hpp). Returns the tensors inside of it that
  /// `live` names, in their order; of the last chunk the network's results. Undefined is what a
  /// network that grows does not make yet, or any more.
  [[nodiscard]] std::vector<at::Tensor> forward_chunk(BlockRange blocks,
                                                      const std::vector<std::string>& live,
                                                      NamedTensors in,
                                                      const ForwardContext& context);
  [[nodiscard]] const std::string& output() const { return output_; }
  /// Names of the tensors that are its results, in the order of forward_levels.
  [[nodiscard]] const std::vector<std::string>& levels() const { return levels_; }

  /// Sets the growth of its blocks from now on (Job::growth_level). Before the first call it is
  /// fully grown.
  void grow_to(double growth) { growth_ = growth; }
  [[nodiscard]] double growth() const { return growth_; }

  struct NamedParameter {
    std::string name;  ///< "generator/0/weight"; of a user's network "generator/main.0.weight"
    Parameter* parameter;
    std::size_t block;  ///< its index in the network
  };
  struct NamedStatistic {
    std::string name;
    Statistic* statistic;
    std::size_t block;
  };
  /// In module order, which is the order of the arena and of every norm.
  [[nodiscard]] std::vector<NamedParameter> parameters();
  [[nodiscard]] std::vector<NamedStatistic> statistics();

  /// From now on the last block has a statistic [1] that begins at 0: the moving mean of something
  /// that passes see of the network's result (pipeline::Application::statistic).
  void keep_mean(const std::string& name, double momentum);
  /// That statistic. @throws InvariantError where there is none
  [[nodiscard]] const Statistic& kept_mean(const std::string& name);
  /// Where fp16 is the precision, the blocks of these numbers compute in fp32 all the same.
  /// @param beside_bf16  whether in bf16, too
  void keep_in_fp32(std::vector<std::size_t> blocks, bool beside_bf16) {
    fp32_blocks_ = std::move(blocks);
    is_fp32_beside_bf16_ = beside_bf16;
  }

  /// Where its tensors lie.
  [[nodiscard]] at::Device device();

  /// Sets the initial values: keyed by (seed, network, position), so the same on every worker.
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
  std::vector<std::size_t> fp32_blocks_;  // where fp16 is wanted
  bool is_fp32_beside_bf16_ = false;
  std::vector<std::vector<std::string>> live_;  // by block: what flows out of it
};

}  // namespace gangway::gan
