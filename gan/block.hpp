// SPDX-License-Identifier: MIT
// A block is the unit of a network: the job cuts, recomputes and keys networks block by block. A
// block maps named tensors to named tensors, declares both, and never writes to its inputs. Its
// random numbers are keyed; its statistics go to a StatisticSink. It depends on no process.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gan/named_tensors.hpp"
#include "gan/random.hpp"
#include "job/blocks/block_tensors.hpp"
#include "job/blocks/progressive/growth.hpp"
#include "job/precision.hpp"

namespace gangway::gan {

/// A trained tensor. `tensor` stays the same object when its memory is bound to an arena.
struct Parameter {
  std::string name;   ///< unique within the block: "weight", "norm.bias"
  at::Tensor tensor;  ///< float32, requires grad
  Initial initial = Initial::kNormal;
  double initial_scale = 0.02;  ///< standard deviation, or the value of kConstant
  at::Tensor given = {};        ///< initial value read from a file; undefined: none
};

/// Returns whether the parameter is a matrix or a convolution kernel, named `weight` and with rows.
/// Scales, biases, embeddings and constant pictures are not maps.
[[nodiscard]] bool is_map(const Parameter& parameter);

/// A value averaged over micro-batches instead of trained (BatchNorm's mean and variance).
struct Statistic {
  std::string name;
  at::Tensor running;  ///< float32 [features]; evaluation uses it
  double initial = 0.0;
  double momentum = kStatisticMomentum;  ///< weight of the newest micro-batches in `running`
  at::Tensor given = {};                 ///< as Parameter::given
};

/// Takes the values that passes over one micro-batch contribute to statistics. Blocks do not know
/// the micro-batch or the use of the values.
class StatisticSink {
 public:
  virtual ~StatisticSink() = default;
  /// @param value  of one application, shaped as `statistic.running`
  virtual void take(const Statistic& statistic, const at::Tensor& value) = 0;
};

enum class Mode { kTraining, kEvaluation };

/// Orders of derivative that a phase takes of a pass. Custom kernels compute first ones alone.
enum class Derivatives { kAll, kFirst };

struct ForwardContext {
  Mode mode = Mode::kTraining;
  StatisticSink* sink = nullptr;  ///< null: the statistics of this pass are dropped
  RandomKey key;                  ///< `block` is filled in by the network
  double growth = kFullyGrown;    ///< of the network, which fills it in
  /// Precision of operators (gan/precision.hpp); the network narrows it for single blocks.
  Precision precision = Precision::kFp32;
  Derivatives derivatives = Derivatives::kAll;
};

class Block {
 public:
  /// Creates parameters of zeros and statistics with their initial values.
  explicit Block(BlockPorts ports, const std::vector<ParameterSpec>& parameters = {},
                 const std::vector<StatisticSpec>& statistics = {});
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  /// Returns the tensors of `in` and those that the block computes.
  [[nodiscard]] virtual NamedTensors forward(const NamedTensors& in,
                                             const ForwardContext& context) = 0;

  [[nodiscard]] const BlockPorts& ports() const { return ports_; }

  /// Returns whether the block is a whole network. Its tensor names then carry no block number.
  [[nodiscard]] virtual bool is_whole_network() const { return false; }

  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] std::deque<Statistic>& statistics() { return statistics_; }
  /// Adds a statistic that the caller updates.
  void keep(Statistic statistic) { add(std::move(statistic)); }

 protected:
  void add(Parameter parameter) { parameters_.push_back(std::move(parameter)); }
  void add(Statistic statistic) { statistics_.push_back(std::move(statistic)); }
  /// Return the tensor of that name in the block, or null. The pointer stays valid.
  [[nodiscard]] Parameter* parameter(std::string_view name);
  [[nodiscard]] Statistic* statistic(std::string_view name);

 private:
  BlockPorts ports_;
  std::deque<Parameter> parameters_;
  std::deque<Statistic> statistics_;
};

}  // namespace gangway::gan
