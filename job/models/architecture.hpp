// SPDX-License-Identifier: MIT
// Networks as values: a list of blocks, each with the tensors that it trains.
// gan/build_networks.hpp makes networks of them; what needs sizes alone, such as the estimate of
// memory, counts here. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gangway {

enum class LayerKind { kLinear, kConvolution, kTransposedConvolution };
enum class Activation { kNone, kRelu, kLeakyRelu, kSoftplus, kTanh };

/// A linear map, then as asked for: BatchNorm, an activation, keyed dropout.
struct LayerSpec {
  LayerKind kind = LayerKind::kLinear;
  std::int64_t in = 1;  ///< features or channels
  std::int64_t out = 1;
  std::int64_t kernel = 4;  ///< pixels, square
  std::int64_t stride = 2;
  std::int64_t padding = 1;
  bool bias = false;
  bool batch_norm = false;
  Activation activation = Activation::kNone;
  double dropout = 0.0;                        ///< probability, keyed
  std::vector<std::int64_t> input_shape = {};  ///< per example; empty: as it comes
  std::string input = "features";
  std::string output = "features";
  double initial_scale = 0.02;  ///< of the weight
};

/// Generator: appends the one-hot label to "noise" [N, latent] → [N, latent + classes] (Mirza and
/// Osindero, 2014).
struct LabelConcatenationSpec {
  std::int64_t classes = 0;
};

/// Discriminator: the logit of "features" [N, features * pixels], and <embedding(label), their mean
/// over pixels> added to it (projection discriminator, Miyato and Koyama, 2018, eq. 3).
struct ProjectionHeadSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
  std::int64_t pixels = 1;
};

using BlockSpec = std::variant<LayerSpec, LabelConcatenationSpec, ProjectionHeadSpec>;

/// Kinds of initial values.
enum class Initial { kZero, kNormal, kOnePlusNormal };

/// A tensor to be trained.
struct ParameterSpec {
  std::string name;  ///< within the block: "weight", "norm.bias"
  std::vector<std::int64_t> shape;
  Initial initial = Initial::kNormal;
  double initial_scale = 0.02;  ///< standard deviation (DCGAN, Radford et al., 2015, section 4)
};

/// A value averaged over micro-batches instead of trained.
struct StatisticSpec {
  std::string name;
  std::int64_t features = 1;
  double initial = 0.0;
};

/// In the order of the arena.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LayerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LabelConcatenationSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProjectionHeadSpec& spec);
[[nodiscard]] std::vector<StatisticSpec> statistics_of(const LayerSpec& spec);

struct Architecture {
  std::string name;  ///< "generator" or "discriminator"
  std::vector<BlockSpec> blocks;
};

/// Trained numbers.
[[nodiscard]] std::int64_t num_parameters(const Architecture& network);

/// Whether a dense layer is batch-normalized: it has one value an example to take statistics over,
/// where maps have many pixels.
[[nodiscard]] bool normalizes_dense_layers(const Architecture& network);

}  // namespace gangway
