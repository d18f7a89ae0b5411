// SPDX-License-Identifier: MIT
// Translators of pictures, and feature networks.
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

Tensor mirrored(const Tensor& x, std::int64_t pixels) {
  return pixels == 0 ? x : mapped(Operation::kReflection, x, {.padding = pixels});
}

/// Convolves over mirrored borders with "NAMEweight" and "NAMEbias", then normalizes instances by
/// "NORMweight" and "NORMbias", or by 1 and 0 if the block has none.
Tensor normed_convolution(const LoweredBlock& block, const Tensor& x, const std::string& name,
                          const std::string& norm, std::int64_t stride = 1) {
  const Tensor weight = block.tensor(name + "weight");
  const Tensor y = convolved(mirrored(x, weight.size(3) / 2), weight, block.tensor(name + "bias"),
                             {.stride = stride});
  return instance_normalized(y, block.find_tensor(norm + "weight"),
                             block.find_tensor(norm + "bias"));
}

void lower_residual(LoweredBlock& block) {
  const Tensor& x = block.in("features");
  const Tensor y = applied(Operation::kRelu, normed_convolution(block, x, "first.", "first_norm."));
  block.out("features", normed_convolution(block, y, "second.", "second_norm.") + x);
}

}  // namespace

void lower(const SkipSpec& spec, LoweredBlock& block) {
  block.out("features",
            joined({applied(Operation::kRelu, block.in(spec.skip)), block.in("features")}, 1));
}

void lower(const InstanceLayerSpec& spec, LoweredBlock& block) {
  const bool mirrors = spec.border == Border::kMirror;
  const Window window{.stride = spec.stride,
                      .padding = mirrors ? 0 : spec.padding,
                      .output_padding = spec.output_padding};
  const Tensor x = mirrored(block.in(spec.input), mirrors ? spec.padding : 0);
  const auto map =
      spec.kind == LayerKind::kTransposedConvolution ? convolved_transposed : convolved;
  const Tensor y = map(x, block.tensor("weight"), block.tensor("bias"), window);
  block.out("features", activated(spec.normalizes ? instance_normalized(y) : y, spec.activation));
}

void lower(const InstanceResidualSpec&, LoweredBlock& block) { lower_residual(block); }

void lower(const TransferLayerSpec& spec, LoweredBlock& block) {
  const Tensor x = repeated(block.in(spec.input), spec.doubles ? 2 : 1);
  const Tensor y = spec.normalizes ? normed_convolution(block, x, "", "norm.", spec.stride)
                                   : convolved(mirrored(x, spec.kernel / 2), block.tensor("weight"),
                                               block.tensor("bias"), {.stride = spec.stride});
  block.out("features", activated(y, spec.activation));
}

void lower(const TransferResidualSpec&, LoweredBlock& block) { lower_residual(block); }

void lower(const FeatureLevelSpec& spec, LoweredBlock& block) {
  Tensor x = block.in(spec.level == 0 ? "image" : "features");
  if (x.size(1) != spec.in) {
    x = along(Operation::kMean, x, {1});  // a colour picture for a network of gray pictures
  }
  if (spec.pools) {
    x = mapped(Operation::kMaximumPooling, x, {.kernel = 2, .stride = 2});
  }
  const Tensor y = applied(
      Operation::kRelu,
      convolved(x, block.tensor("weight"), block.tensor("bias"), {.padding = spec.kernel / 2}));
  block.out("features", y);
  block.out(level_names(spec.level + 1).back(), y);
}

}  // namespace gangway::primitives
