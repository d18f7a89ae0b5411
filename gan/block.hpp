// SPDX-License-Identifier: MIT
// The unit of a network: where it may be cut into stages, recomputed, and keyed. Named tensors in,
// named tensors out. A block knows no process: what it draws is keyed, what it harvests is folded
// by somebody else.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gan/named_tensors.hpp"
#include "gan/random.hpp"
#include "job/models/architecture.hpp"

namespace gangway::gan {

/// A trained tensor. `tensor` keeps its identity when its memory is bound to an arena.
struct Parameter {
  std::string name;   ///< within the block: "weight", "norm.bias"
  at::Tensor tensor;  ///< float32, requires grad
  Initial initial = Initial::kNormal;
  double initial_scale = 0.02;  ///< standard deviation
};

/// A value averaged over micro-batches instead of trained (BatchNorm's mean and variance).
struct Statistic {
  std::string name;
  at::Tensor running;  ///< float32 [features]; what evaluation uses
  at::Tensor harvest;  ///< same shape: training passes add their micro-batch's value
  double initial = 0.0;
};

enum class Mode { kTraining, kEvaluation };
enum class Harvest { kNo, kYes };  ///< whether training passes add to Statistic::harvest

struct ForwardContext {
  Mode mode = Mode::kTraining;
  Harvest harvest = Harvest::kNo;
  RandomKey key;  ///< `block` is filled in by the network
};

class Block {
 public:
  /// All values are zero, those of statistics initial.
  explicit Block(const std::vector<ParameterSpec>& parameters = {},
                 const std::vector<StatisticSpec>& statistics = {});
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  [[nodiscard]] virtual NamedTensors forward(const NamedTensors& in,
                                             const ForwardContext& context) = 0;

  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] std::deque<Statistic>& statistics() { return statistics_; }

 protected:
  /// By its name within the block; null where there is none. The pointer stays valid.
  [[nodiscard]] Parameter* parameter(std::string_view name);
  [[nodiscard]] Statistic* statistic(std::string_view name);

 private:
  std::deque<Parameter> parameters_;
  std::deque<Statistic> statistics_;
};

}  // namespace gangway::gan
