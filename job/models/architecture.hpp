// SPDX-License-Identifier: MIT
// Networks as values: a list of blocks, each with the tensors that it trains.
// gan/build_networks.hpp makes networks of them; what needs sizes alone, such as the estimate of
// memory, counts here. Pure.
#pragma once

#include <cstdint>
#include <optional>
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
  double dropout = 0.0;                         ///< probability, keyed
  std::vector<std::int64_t> input_shape = {};   ///< per example; empty: as it comes
  std::vector<std::int64_t> output_shape = {};  ///< the same of what it makes
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

/// Generator: appends the label's embedding to "noise" [N, latent] → [N, latent + features].
struct LabelEmbeddingSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
};

/// Discriminator: the logit <"features", embedding(label)> of "features" [N, features].
struct LabelProductSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
};

/// "features" + f("features"); f is a 1x1 convolution, a bias, leaky ReLU, a grouped 3x3
/// convolution, a bias, leaky ReLU, and a 1x1 convolution whose weight begins at zero, so that the
/// whole begins as the identity (R3GAN, Huang et al., 2024, section 4; Fixup, Zhang et al., 2019).
struct ResidualSpec {
  std::int64_t channels = 1;
  std::int64_t expanded = 2;  ///< channels between the 1x1 convolutions
  std::int64_t groups = 1;    ///< of the 3x3 convolution; divides `expanded`
  double gain = 1.0;          ///< the other weights begin with deviation gain / sqrt(fan-in)
};

enum class Resampling { kUp, kDown };

/// Doubles or halves both sides of "features" by interpolation with [1, 3, 3, 1], which is R3GAN's
/// [1, 2, 1] between pixels, and changes the channels by a 1x1 convolution on the smaller maps;
/// there is none where `in` is `out`.
struct ResamplingSpec {
  Resampling direction = Resampling::kUp;
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
};

/// Generator: "noise" [N, in] → [N, channels, 4, 4]: a learned map for each channel, as strong as a
/// linear function of the noise says (R3GAN's generative basis).
struct GenerativeBasisSpec {
  std::int64_t in = 1;
  std::int64_t channels = 1;
};

/// Discriminator: "features" [N, channels, 4, 4] → [N, out]: each channel's product with a learned
/// map, then a linear map (R3GAN's discriminative basis).
struct DiscriminativeBasisSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
};

/// What a user's network takes: float32 [N, shape…], or int64 [N] under the name "labels".
struct ScriptInput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< per example
};

/// A whole network that a user has made: a TorchScript file. What it computes, and which tensors it
/// has, only LibTorch can tell (gan/script/).
struct ScriptSpec {
  std::string key;  ///< of the job, for messages: "model.generator"
  std::string file;
  std::string hash;  ///< of its bytes; empty: whatever they are
  std::vector<ScriptInput> inputs;
  std::vector<std::int64_t> output;            ///< shape of an example: float32 "features"
  std::optional<std::int64_t> num_parameters;  ///< where somebody has looked
};

/// Generator: "noise" [N, latent] (and "labels") → "style" [N, features]: a mapping of two layers,
/// of the noise and the label's embedding beside it, each of mean square one (GAT, Hyun et al.,
/// 2025, section 3; StyleGAN2, Karras et al., 2020).
struct TokenStyleSpec {
  std::int64_t latent = 1;
  std::int64_t classes = 0;
  std::int64_t features = 1;
};

/// On the weights of the mapping as they are used, so that an optimiser moves them as much slower
/// (StyleGAN's learning rate of the mapping network, Karras et al., 2019, appendix C).
inline constexpr double kStyleRate = 0.01;

/// Generator: "features" [N, side * side, width]: learned positions, the same for every "style".
struct TokenGridSpec {
  std::int64_t side = 1;  ///< patches of a picture's side
  std::int64_t width = 1;
};

/// A layer of a transformer on "features" [N, tokens, width]: attention, then a gated MLP, each
/// with RMSNorm before it and a gain behind it. With a style, which goes on to later blocks, gains
/// come from "style", else they are weights (GAT, section 3).
struct TransformerSpec {
  std::int64_t width = 1;
  std::int64_t heads = 1;   ///< divide `width`
  std::int64_t hidden = 1;  ///< of the MLP
  std::int64_t style = 0;   ///< features of "style"; 0: takes none
};

/// Generator: adds a picture to the last of "pictures" [N, depth * channels, H, W] and appends the
/// sum to them. It is made of "features" [N, side * side, width] patch by patch, under a "style".
/// The last of these blocks leaves in "features" all pictures in training, which are what a
/// discriminator of as many depths judges, and the last one in evaluation (GAT, section 4).
struct PatchPictureSpec {
  std::int64_t width = 1;
  std::int64_t style = 1;
  std::int64_t channels = 1;  ///< of one picture
  std::int64_t patch = 1;     ///< pixels, square
  std::int64_t side = 1;      ///< patches
  int depth = 0;              ///< pictures that are there already
  bool is_last = false;
};

/// Discriminator: "image" [N, channels or depths * channels, H, W] → "features" [N, 1 + side *
/// side, width]: a learned token, then one for each patch, with learned positions. One picture
/// stands for all depths. In training each depth gets keyed noise, the more the earlier it is (GAT,
/// section 4).
struct PatchEmbeddingSpec {
  std::int64_t channels = 1;  ///< of one picture
  int depths = 1;             ///< at most 4
  std::int64_t patch = 1;     ///< pixels, square
  std::int64_t side = 1;      ///< patches
  std::int64_t width = 1;
};

/// Discriminator: a linear map of the first token of "features" [N, tokens, width], normalized.
struct TokenHeadSpec {
  std::int64_t width = 1;
  std::int64_t out = 1;
};

/// Pixels a side of the maps of both bases.
inline constexpr std::int64_t kBasisSide = 4;

using BlockSpec =
    std::variant<LayerSpec, LabelConcatenationSpec, ProjectionHeadSpec, LabelEmbeddingSpec,
                 LabelProductSpec, ResidualSpec, ResamplingSpec, GenerativeBasisSpec,
                 DiscriminativeBasisSpec, ScriptSpec, TokenStyleSpec, TokenGridSpec,
                 TransformerSpec, PatchPictureSpec, PatchEmbeddingSpec, TokenHeadSpec>;

/// Kinds of initial values.
enum class Initial {
  kZero,
  kNormal,
  kOnePlusNormal,
  kConstant,   ///< `initial_scale` itself
  kPositions,  ///< of [side * side, width]: sines and cosines of the places in a square
};

/// A tensor to be trained.
struct ParameterSpec {
  std::string name;  ///< within the block: "weight", "norm.bias"
  std::vector<std::int64_t> shape;
  Initial initial = Initial::kNormal;
  /// Standard deviation (DCGAN, Radford et al., 2015, section 4), or the value of kConstant.
  double initial_scale = 0.02;
};

/// Weight of the newest micro-batches in a running value (Ioffe and Szegedy, 2015; PyTorch's
/// default).
inline constexpr double kStatisticMomentum = 0.1;

/// A value averaged over micro-batches instead of trained.
struct StatisticSpec {
  std::string name;
  std::int64_t features = 1;
  double initial = 0.0;
  double momentum = kStatisticMomentum;  ///< 1: the newest micro-batches' mean
};

/// Names of the tensors that a block takes, and of those that it makes. What no later block takes
/// ends with it.
struct BlockPorts {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};
[[nodiscard]] BlockPorts ports_of(const LayerSpec& spec);
[[nodiscard]] BlockPorts ports_of(const LabelConcatenationSpec& spec);
[[nodiscard]] BlockPorts ports_of(const ProjectionHeadSpec& spec);
[[nodiscard]] BlockPorts ports_of(const LabelEmbeddingSpec& spec);
[[nodiscard]] BlockPorts ports_of(const LabelProductSpec& spec);
[[nodiscard]] BlockPorts ports_of(const ResidualSpec& spec);
[[nodiscard]] BlockPorts ports_of(const ResamplingSpec& spec);
[[nodiscard]] BlockPorts ports_of(const GenerativeBasisSpec& spec);
[[nodiscard]] BlockPorts ports_of(const DiscriminativeBasisSpec& spec);
[[nodiscard]] BlockPorts ports_of(const ScriptSpec& spec);
[[nodiscard]] BlockPorts ports_of(const TokenStyleSpec& spec);
[[nodiscard]] BlockPorts ports_of(const TokenGridSpec& spec);
[[nodiscard]] BlockPorts ports_of(const TransformerSpec& spec);
[[nodiscard]] BlockPorts ports_of(const PatchPictureSpec& spec);
[[nodiscard]] BlockPorts ports_of(const PatchEmbeddingSpec& spec);
[[nodiscard]] BlockPorts ports_of(const TokenHeadSpec& spec);

/// By block, what flows out of it: the tensors that later blocks take and `result`, which the last
/// one makes; so what has to travel where a network is cut behind it.
[[nodiscard]] std::vector<std::vector<std::string>> live_behind(
    const std::vector<BlockPorts>& blocks, const std::string& result);

/// In the order of the arena.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LayerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LabelConcatenationSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProjectionHeadSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LabelEmbeddingSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const LabelProductSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ResidualSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ResamplingSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const GenerativeBasisSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const DiscriminativeBasisSpec& spec);
/// None: they are in its file.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ScriptSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TokenStyleSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TokenGridSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TransformerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const PatchPictureSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const PatchEmbeddingSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TokenHeadSpec& spec);
[[nodiscard]] std::vector<StatisticSpec> statistics_of(const LayerSpec& spec);

struct Architecture {
  std::string name;  ///< "generator"
  std::vector<BlockSpec> blocks;
};

/// Trained numbers; of a user's network as many as were counted.
[[nodiscard]] std::int64_t num_parameters(const Architecture& network);

/// The user's network that it is; null: a family's.
[[nodiscard]] const ScriptSpec* script_in(const Architecture& network);

/// Whether a dense layer is batch-normalized: it has one value an example to take statistics over,
/// where maps have many pixels.
[[nodiscard]] bool normalizes_dense_layers(const Architecture& network);

}  // namespace gangway
