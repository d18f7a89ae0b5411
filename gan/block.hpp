// SPDX-License-Identifier: MIT
// The unit of a network: where it may be cut into stages, recomputed, and keyed. Named tensors in,
// named tensors out. A block knows no process: what it draws is keyed, what it harvests is folded
// by somebody else.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "gan/named_tensors.hpp"
#include "gan/random.hpp"

namespace gangway::gan {

/// Kinds of initial values, with the scale in Parameter::initial_scale.
enum class Initial { kZero, kNormal, kOnePlusNormal };

/// A trained tensor. `tensor` keeps its identity when its memory is bound to an arena.
struct Parameter {
  std::string name;   ///< within the block: "weight", "norm.bias"
  at::Tensor tensor;  ///< float32, requires grad
  Initial initial = Initial::kNormal;
  double initial_scale = 0.02;  ///< standard deviation (DCGAN, Radford et al., 2015, section 4)
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
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  [[nodiscard]] virtual NamedTensors forward(const NamedTensors& in,
                                             const ForwardContext& context) = 0;

  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] std::deque<Statistic>& statistics() { return statistics_; }

 protected:
  /// Declares a trained tensor; the reference stays valid (deque).
  Parameter& add_parameter(std::string name, std::vector<std::int64_t> shape, Initial initial,
                           double scale = 0.02);
  Statistic& add_statistic(std::string name, std::int64_t features, double initial);

 private:
  std::deque<Parameter> parameters_;
  std::deque<Statistic> statistics_;
};

}  // namespace gangway::gan
