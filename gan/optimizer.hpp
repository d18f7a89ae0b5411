// SPDX-License-Identifier: MIT
// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019) on a flat slice, by LibTorch's
// fused kernels. Element-wise: the bits do not depend on how an arena is cut, as long as cuts are
// multiples of 64 elements.
#pragma once

#include <cstdint>
#include <span>

#include "job/spec.hpp"

namespace gangway::gan {

/// The hyperparameters of one update, schedules and corrections applied.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
};

/// The part of one network's state that an update works on; all spans of equal size.
struct OptimizerSlice {
  std::span<float> weights;
  std::span<const float> gradient;
  std::span<float> first_moment;
  std::span<float> second_moment;
};

/// @param update  number of this update, from 1 on (bias correction)
void optimizer_step(const OptimizerSettings& settings, std::int64_t update,
                    const OptimizerSlice& slice);

/// Settings after `images` real images have been seen of `total_images`. `laziness` is k / (k + 1)
/// for a job whose discriminator has a regulariser every k steps, else 1 (StyleGAN2, appendix B: lr
/// * c, beta^c).
[[nodiscard]] OptimizerSettings scheduled_settings(const NetworkSpec& spec, double images,
                                                   double total_images, double laziness);

}  // namespace gangway::gan
