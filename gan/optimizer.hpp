// SPDX-License-Identifier: MIT
// The optimisers of job/optimizers.hpp, on a flat slice. They work element by element: the bits do
// not depend on the cuts of an arena if these are multiples of 64 elements.
#pragma once

#include <cstdint>
#include <span>

#include "job/spec.hpp"

namespace gangway::gan {

/// The part of one network's state that an update changes. All spans have the same size.
struct OptimizerSlice {
  std::span<float> weights;
  std::span<const float> gradient;
  PerMoment<std::span<float>> moments;
};

/// @param settings  with schedules applied
/// @param update    number of this update, from 1 (for bias correction)
void optimizer_step(const OptimizerSpec& settings, std::int64_t update,
                    const OptimizerSlice& slice);

/// Returns the settings after `images` real images. Values with a schedule reach their final value
/// after `burn_in_images`. `laziness` is k / (k + 1) if the discriminator has a regulariser every k
/// steps, else 1 (StyleGAN2, appendix B: lr * c, decays^c).
[[nodiscard]] OptimizerSpec scheduled_settings(const NetworkSpec& spec, double images,
                                               double burn_in_images, double laziness);

/// Progress of the training when the average is updated, once a step.
struct AveragePlace {
  double images = 0.0;           ///< real images up to the end of the step
  double images_per_step = 1.0;  ///< real images in the step
  double updates = 1.0;          ///< of the network, including this update
  double burn_in_images = 0.0;   ///< Job::burn_in_images
};

/// Returns the decay of the average of a network's weights: 2^(-images of the step / half-life)
/// (StyleGAN2-ADA). NetworkSpec::ema_rampup bounds the half-life; its share counts the images
/// before the step, as in the authors' code. The decay is 0 until ema_start_kimg.
[[nodiscard]] double average_decay(const NetworkSpec& spec, const AveragePlace& at);

}  // namespace gangway::gan
