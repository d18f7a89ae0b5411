// SPDX-License-Identifier: MIT
// Progressive growing, at the growth that the network has reached: a block that has not grown in
// yet adds nothing.
#include <cmath>

#include "job/blocks/block_constants.hpp"
#include "job/primitives/lowered_block.hpp"

namespace gangway::primitives {
namespace {

/// Returns "NAME.weight" times He's constant for its layer.
Tensor equalised_weight(const LoweredBlock& block, const std::string& name, double gain) {
  const Tensor weight = block.tensor(name + ".weight");
  return weight * (gain / std::sqrt(num_inputs(weight)));
}

Tensor equalised_convolution(const LoweredBlock& block, const std::string& name, const Tensor& x,
                             double gain) {
  const Tensor weight = equalised_weight(block, name, gain);
  return convolved(x, weight, block.tensor(name + ".bias"), {.padding = weight.size(3) / 2});
}

Tensor activated_convolution(const LoweredBlock& block, const std::string& name, const Tensor& x) {
  return leaky(equalised_convolution(block, name, x, kActivatedGain));
}

Tensor pixel_normalized(const Tensor& x) { return of_unit_mean_square(x, 1, kPixelEpsilon); }

Tensor mixed(const Tensor& older, const Tensor& newer, double share) {
  return older * (1.0 - share) + newer * share;
}

/// Returns the features that a discriminator's block begins with.
Tensor incoming(const GrowingPart& place, const LoweredBlock& block) {
  const double finer = place.finer_share(block.growth());
  if (finer == 1.0) {
    return block.in("features");
  }
  const Tensor& image = block.in("image");
  const Tensor seen =
      activated_convolution(block, "picture", averaged(image, image.size(2) / place.side()));
  return finer == 0.0 ? seen : mixed(seen, block.in("features"), finer);
}

}  // namespace

void lower(const ProgressiveStartSpec& spec, LoweredBlock& block) {
  Tensor x =
      linear(pixel_normalized(block.in("noise")), equalised_weight(block, "first", kActivatedGain));
  x = reshaped(x, {spec.channels, kFirstSide, kFirstSide}) +
      constant_as(block.tensor("first.bias"), {spec.channels, 1, 1});
  x = pixel_normalized(activated_convolution(block, "second", pixel_normalized(leaky(x))));
  block.out("features", x);
  if (spec.place.finer_share(block.growth()) < 1.0) {
    block.out("picture", equalised_convolution(block, "picture", x, kPlainGain));
  }
}

void lower(const ProgressiveUpSpec& spec, LoweredBlock& block) {
  const double share = spec.place.share(block.growth());
  if (share == 0.0) {
    return;
  }
  Tensor x = repeated(block.in("features"), 2);
  x = pixel_normalized(activated_convolution(block, "first", x));
  x = pixel_normalized(activated_convolution(block, "second", x));
  block.out("features", x);
  if (spec.place.finer_share(block.growth()) == 1.0) {
    return;
  }
  const Tensor picture = equalised_convolution(block, "picture", x, kPlainGain);
  block.out("picture",
            share == 1.0 ? picture : mixed(repeated(block.in("picture"), 2), picture, share));
}

void lower(const ProgressivePictureSpec& spec, LoweredBlock& block) {
  const Tensor& picture = block.in("picture");
  block.out("features", repeated(picture, spec.side / picture.size(2)));
}

void lower(const ProgressiveDownSpec& spec, LoweredBlock& block) {
  if (spec.place.share(block.growth()) == 0.0) {
    return;
  }
  const Tensor x = activated_convolution(block, "first", incoming(spec.place, block));
  block.out("features", averaged(activated_convolution(block, "second", x), 2));
}

void lower(const ProgressiveEndSpec& spec, LoweredBlock& block) {
  const Tensor taken = incoming(spec.place, block);
  const Tensor deviation = mapped(Operation::kGroupDeviation, taken, {.groups = 0}, kPixelEpsilon);
  Tensor x = activated_convolution(block, "first", joined({taken, deviation}, 1));
  x = linear(reshaped(x, {spec.channels * kFirstSide * kFirstSide}),
             equalised_weight(block, "second", kActivatedGain), block.tensor("second.bias"));
  x = leaky(x);
  Tensor logits =
      linear(x, equalised_weight(block, "logit", kPlainGain), block.tensor("logit.bias"));
  if (spec.classes > 0) {
    const double scale = kPlainGain / std::sqrt(static_cast<double>(spec.channels));
    const Tensor label = looked_up(block.tensor("embedding") * scale, block.in("labels"));
    logits = logits + along(Operation::kSum, x * label, {1});
  }
  block.out("features", logits);
}

}  // namespace gangway::primitives
