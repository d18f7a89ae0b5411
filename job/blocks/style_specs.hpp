// SPDX-License-Identifier: MIT
// What StyleGAN2's networks (Karras et al., 2020, arXiv 1912.04958) are made of, as values. All
// weights begin with deviation one and are divided by the root of their fan-in as they are used
// (equalised learning rate, Karras et al., 2018, section 4.1). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// What a mapping makes, [N, count, features]: a style for each layer of the synthesis network.
inline constexpr const char* kStyles = "styles";

/// The statistic of the block that makes them: the moving mean of the lengths that path length
/// regularisation sees (Karras et al., 2020, section 3.2).
inline constexpr const char* kPathLength = "path_length";
/// Weight of the newest lengths in it (the authors' code).
inline constexpr double kPathLengthMomentum = 0.01;

/// Generator: "noise" [N, latent] (and "labels") → "styles" [N, count, features]: `layers` dense
/// layers of the noise and the label's embedding beside it, each of mean square one. In training an
/// example has with probability `mixing` the style of a second noise from some layer on, each as
/// likely, but not the first (style mixing, Karras et al., 2019, section 3.1; there one layer a
/// batch, here one an example, keyed).
struct StyleMappingSpec {
  std::int64_t latent = 1;
  std::int64_t classes = 0;
  std::int64_t features = 1;
  int layers = 8;
  std::int64_t count = 2;
  double mixing = 0.0;
};
[[nodiscard]] BlockPorts ports_of(const StyleMappingSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleMappingSpec& spec);
[[nodiscard]] std::vector<StatisticSpec> statistics_of(const StyleMappingSpec& spec);

/// Generator: "features" [N, channels, 4, 4], the same for every style.
struct StyleConstantSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockPorts ports_of(const StyleConstantSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleConstantSpec& spec);

/// Generator: a 3x3 convolution of "features" whose weights are scaled by a style and normalized
/// for it (Karras et al., 2020, eq. 1 and 3), after which the maps may be twice as large; then
/// noise of a learned strength, one value a pixel, a bias and leaky ReLU. The noise is keyed in
/// training, and in evaluation the same for all pictures.
struct StyleLayerSpec {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t features = 1;  ///< of a style
  std::int64_t index = 0;     ///< of its style among "styles"
  std::int64_t side = 4;      ///< pixels of what it makes
  bool doubles = false;       ///< the side
};
[[nodiscard]] BlockPorts ports_of(const StyleLayerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleLayerSpec& spec);

/// Generator: a picture of "features" by a 1x1 convolution whose weights a style scales, added to
/// "picture", which is half as large, interpolated; the first has none to add to. The last one
/// leaves "features" (Karras et al., 2020, figure 7b: output skips).
struct StylePictureSpec {
  std::int64_t in = 1;
  std::int64_t channels = 1;  ///< of a picture
  std::int64_t features = 1;  ///< of a style
  std::int64_t index = 0;
  bool is_first = false;
  bool is_last = false;
};
[[nodiscard]] BlockPorts ports_of(const StylePictureSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StylePictureSpec& spec);

/// Discriminator: "image" → "features" by a 1x1 convolution and leaky ReLU.
struct StyleImageSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockPorts ports_of(const StyleImageSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleImageSpec& spec);

/// Discriminator: halves the sides of "features": two 3x3 convolutions with leaky ReLU, before the
/// second of which the maps are smoothed, and a 1x1 convolution of the smaller maps added to them;
/// the sum over the root of 2 (Karras et al., 2020, figure 7c: residual nets). Without a skip the
/// two alone (`orig` of StyleGAN2-ADA's code).
struct StyleHalvingSpec {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool is_residual = true;
};
[[nodiscard]] BlockPorts ports_of(const StyleHalvingSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleHalvingSpec& spec);

/// Discriminator: "features" [N, channels, 4, 4] → [N, out]: beside them one map that says how far
/// the examples of a group lie apart; a 3x3 convolution and a dense layer with leaky ReLU, and a
/// dense map. Groups are of the micro-batch, the unit of arithmetic: as large as divides it, and at
/// most `group` (Karras et al., 2018, section 3).
struct StyleEpilogueSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
  std::int64_t group = 4;
};
[[nodiscard]] BlockPorts ports_of(const StyleEpilogueSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleEpilogueSpec& spec);

/// Discriminator: the logit <"features", mapping(label)> / sqrt(features), where the mapping is as
/// the generator's (StyleGAN2-ADA, Karras et al., 2020b, the authors' code).
struct StyleLabelSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
  int layers = 8;
};
[[nodiscard]] BlockPorts ports_of(const StyleLabelSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const StyleLabelSpec& spec);

}  // namespace gangway
