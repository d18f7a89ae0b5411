// SPDX-License-Identifier: MIT
// The optimisers of job/optimizers.hpp on a flat slice. Element-wise: the bits do not depend on how
// an arena is cut, as long as cuts are multiples of 64 elements.
#pragma once

#include <cstdint>
#include <span>

#include "job/spec.hpp"

namespace gangway::gan {

/// The part of one network's state that an update works on; all spans of equal size.
struct OptimizerSlice {
  std::span<float> weights;
  std::span<const float> gradient;
  PerMoment<std::span<float>> moments;
};

/// @param settings  schedules applied
/// @param update    number of this update, from 1 on (bias correction)
void optimizer_step(const OptimizerSpec& settings, std::int64_t update,
                    const OptimizerSlice& slice);

/// Settings after `images` real images have been seen; what has a final value comes to it after
/// `burn_in_images`. `laziness` is k / (k + 1) for a job whose discriminator has a regulariser
/// every k steps, else 1 (StyleGAN2, appendix B: lr * c, decays^c).
[[nodiscard]] OptimizerSpec scheduled_settings(const NetworkSpec& spec, double images,
                                               double burn_in_images, double laziness);

/// Where a training is when an average is taken, once a step.
struct AveragePlace {
  double images = 0.0;           ///< shown, up to the end of the step
  double images_per_step = 1.0;  ///< of them, in the step
  double updates = 1.0;          ///< of the network, this one included
  double burn_in_images = 0.0;   ///< Job::burn_in_images
};

/// What the average of a network's weights keeps of itself: 2^(-images of the step / half-life)
/// (StyleGAN2-ADA). The half-life is bounded as NetworkSpec::ema_rampup says; a share of the images
/// is one of those before the step, as in the authors' code. 0 until ema_start_kimg.
[[nodiscard]] double average_decay(const NetworkSpec& spec, const AveragePlace& at);

}  // namespace gangway::gan
