// SPDX-License-Identifier: MIT
// StyleGAN2. Gains of equalised maps, and the root of two behind an activation, are in the weights:
// leaky ReLU keeps positive factors.
#include <cmath>
#include <numbers>

#include "job/blocks/block_constants.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

using std::numbers::sqrt2;

/// A map's weight and bias as they are used.
struct EqualizedMap {
  Tensor weight;
  Tensor bias;
};

double gain_of(const Tensor& weight) { return 1.0 / std::sqrt(num_inputs(weight)); }

/// @param name    as in "NAMEweight"
/// @param factor  of the map's outputs
EqualizedMap map_of(const LoweredBlock& block, const std::string& name, double factor = 1.0) {
  const Tensor weight = block.tensor(name + "weight");
  return {weight * (gain_of(weight) * factor), block.tensor(name + "bias") * factor};
}

Tensor dense(const LoweredBlock& block, const std::string& name, const Tensor& x,
             double factor = 1.0) {
  const EqualizedMap map = map_of(block, name, factor);
  return linear(x, map.weight, map.bias);
}

/// Convolves, then activates.
Tensor activated_map(const LoweredBlock& block, const std::string& name, const Tensor& x,
                     Window window = {}) {
  const EqualizedMap map = map_of(block, name, sqrt2);
  return leaky(convolved(x, map.weight, map.bias, window));
}

Tensor through_mapping(const LoweredBlock& block, Tensor x, int layers) {
  for (int layer = 0; layer < layers; ++layer) {
    x = leaky(dense(block, "layer" + std::to_string(layer) + ".", x, kStyleRate * sqrt2));
  }
  return x;
}

Tensor embedded_label(const LoweredBlock& block) {
  const EqualizedMap map = map_of(block, "embedding.");
  const Tensor rows = looked_up(transposed(map.weight, {1, 0}), block.in("labels"));
  return of_unit_mean_square(rows + map.bias, 1, kStyleNormEpsilon);
}

/// Returns the block's factors [N, in] of its input maps. All styles are the same in evaluation.
Tensor factors_of(const LoweredBlock& block) { return dense(block, "factors.", block.in(kStyles)); }

}  // namespace

void lower(const StyleMappingSpec& spec, LoweredBlock& block) {
  Tensor x = of_unit_mean_square(block.in("noise"), 1, kStyleNormEpsilon);
  if (spec.classes > 0) {
    x = joined({x, embedded_label(block)}, 1);
  }
  block.out(kStyles, through_mapping(block, x, spec.layers));
}

void lower(const StyleConstantSpec& spec, LoweredBlock& block) {
  // For a batch of one; the first layer's factors broadcast it.
  block.out("features",
            constant_as(block.tensor("constant"), {1, spec.channels, kBasisSide, kBasisSide}));
}

void lower(const StyleLayerSpec& spec, LoweredBlock& block) {
  const Tensor factors = factors_of(block);
  const Tensor weight = block.tensor("weight");
  Tensor y = block.in("features") * as_maps(factors);
  if (spec.doubles) {
    y = convolved_transposed(y, transposed(weight, {1, 0, 2, 3}), std::nullopt, {.stride = 2});
    y = smoothed(y, /*padding=*/1, 4.0);
  } else {
    y = convolved(y, weight, std::nullopt, {.padding = 1});
  }
  // Demodulation: output maps get deviation one (Karras et al., 2020, eq. 3).
  const Tensor sums =
      constant_as(along(Operation::kSum, weight * weight, {2, 3}), {spec.out, spec.in});
  const Tensor squares = linear(factors * factors, sums);
  y = y * as_maps(block.builder().scalar(sqrt2) /
                  applied(Operation::kRoot, squares, kStyleNormEpsilon));
  y = y + block.constant_noise(spec.side) * (block.tensor("noise_strength") * sqrt2);
  block.out("features", leaky(y + constant_as(block.tensor("bias") * sqrt2, {spec.out, 1, 1})));
}

void lower(const StylePictureSpec& spec, LoweredBlock& block) {
  const Tensor weight = block.tensor("weight");
  Tensor picture = convolved(block.in("features") * as_maps(factors_of(block)),
                             weight * gain_of(weight), block.tensor("bias"));
  if (!spec.is_first) {
    picture = upsampled(block.in("picture")) + picture;
  }
  block.out(spec.is_last ? "features" : "picture", picture);
}

void lower(const StyleImageSpec&, LoweredBlock& block) {
  block.out("features", activated_map(block, "", block.in("image")));
}

void lower(const StyleHalvingSpec& spec, LoweredBlock& block) {
  const Tensor& x = block.in("features");
  const Tensor y = smoothed(activated_map(block, "first.", x, {.padding = 1}), /*padding=*/2);
  if (!spec.is_residual) {
    block.out("features", activated_map(block, "second.", y, {.stride = 2}));
    return;
  }
  // The activation's root of two and the divisor of the sum cancel.
  const EqualizedMap second = map_of(block, "second.");
  const Tensor skip = block.tensor("skip.weight");
  block.out("features", leaky(convolved(y, second.weight, second.bias, {.stride = 2})) +
                            convolved(downsampled(x), skip * (gain_of(skip) / sqrt2)));
}

void lower(const StyleEpilogueSpec& spec, LoweredBlock& block) {
  const Tensor& x = block.in("features");
  const Tensor deviation =
      mapped(Operation::kGroupDeviation, x, {.groups = spec.group}, kStyleNormEpsilon);
  const Tensor y = activated_map(block, "convolution.", joined({x, deviation}, 1), {.padding = 1});
  const Tensor flat = reshaped(y, {spec.channels * kBasisSide * kBasisSide});
  block.out("features", dense(block, "head.", leaky(dense(block, "dense.", flat, sqrt2))));
}

void lower(const StyleLabelSpec& spec, LoweredBlock& block) {
  const Tensor direction = through_mapping(block, embedded_label(block), spec.layers);
  const double scale = 1.0 / std::sqrt(static_cast<double>(spec.features));
  block.out("features", along(Operation::kSum, block.in("features") * direction, {1}) * scale);
}

}  // namespace gangway::primitives
