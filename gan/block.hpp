// SPDX-License-Identifier: MIT
// The unit of a network: networks are cut into stages, recomputed and keyed block by block. Named
// tensors in, named tensors out; a block declares both, and never writes to its inputs. It knows no
// process: its random numbers are keyed, and its statistics go to a StatisticSink.
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

/// A trained tensor. `tensor` keeps its identity when its memory is bound to an arena.
struct Parameter {
  std::string name;   ///< within the block: "weight", "norm.bias"
  at::Tensor tensor;  ///< float32, requires grad
  Initial initial = Initial::kNormal;
  double initial_scale = 0.02;  ///< standard deviation, or the value of kConstant
  at::Tensor given = {};        ///< what it begins with instead, where a file says so
};

/// Whether it is a matrix or a convolution's kernel: what `weight` is called and has rows. Scales,
/// biases, embeddings, and constants that are pictures are none.
[[nodiscard]] bool is_map(const Parameter& parameter);

/// A value averaged over micro-batches instead of trained (BatchNorm's mean and variance).
struct Statistic {
  std::string name;
  at::Tensor running;  ///< float32 [features]; what evaluation uses
  double initial = 0.0;
  double momentum = kStatisticMomentum;  ///< of the newest micro-batches in `running`
  at::Tensor given = {};                 ///< as a parameter's
};

/// Takes what the passes over one micro-batch see. Whose micro-batch it is, and what becomes of it,
/// the block does not know.
class StatisticSink {
 public:
  virtual ~StatisticSink() = default;
  /// @param value  what one application saw, shaped as `statistic.running`
  virtual void take(const Statistic& statistic, const at::Tensor& value) = 0;
};

enum class Mode { kTraining, kEvaluation };

/// Derivatives of a pass that the phase takes: custom kernels have first ones alone.
enum class Derivatives { kAll, kFirst };

struct ForwardContext {
  Mode mode = Mode::kTraining;
  StatisticSink* sink = nullptr;  ///< null: the statistics of this pass are dropped
  RandomKey key;                  ///< `block` is filled in by the network
  double growth = kFullyGrown;    ///< how far the network has grown; filled in by it
  /// That operators compute in (gan/precision.hpp); the network narrows it to the block's.
  Precision precision = Precision::kFp32;
  Derivatives derivatives = Derivatives::kAll;
};

class Block {
 public:
  /// All values are zero, those of statistics initial.
  explicit Block(BlockPorts ports, const std::vector<ParameterSpec>& parameters = {},
                 const std::vector<StatisticSpec>& statistics = {});
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  /// `in`, and in it what the block makes.
  [[nodiscard]] virtual NamedTensors forward(const NamedTensors& in,
                                             const ForwardContext& context) = 0;

  [[nodiscard]] const BlockPorts& ports() const { return ports_; }

  /// Whether it is a whole network, whose tensors have names that need no place before them.
  [[nodiscard]] virtual bool is_whole_network() const { return false; }

  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] std::deque<Statistic>& statistics() { return statistics_; }
  /// Has `statistic` too, which the caller updates.
  void keep(Statistic statistic) { add(std::move(statistic)); }

 protected:
  void add(Parameter parameter) { parameters_.push_back(std::move(parameter)); }
  void add(Statistic statistic) { statistics_.push_back(std::move(statistic)); }
  /// By its name within the block; null where there is none. The pointer stays valid.
  [[nodiscard]] Parameter* parameter(std::string_view name);
  [[nodiscard]] Statistic* statistic(std::string_view name);

 private:
  BlockPorts ports_;
  std::deque<Parameter> parameters_;
  std::deque<Statistic> statistics_;
};

}  // namespace gangway::gan
