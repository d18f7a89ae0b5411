// SPDX-License-Identifier: MIT
// The optimisers of job/optimizers.hpp as arithmetic on one element, the same source for CPU and
// GPU, with the bits of gan/optimizer.hpp on CPUs with FMA. Only IEEE operations, fused
// multiply-adds written out and contraction off, so both compilers give the same bits. Included by
// .cpp and .cu files.
//
// A rule is the numbers of one update, all floats, and
//
//   kNumMoments                          as in the table
//   static Rule of(settings, update)     host: @param update  its number, from 1 on
//   update(gradient, weight, moments)    both: changes one weight and its kNumMoments moments
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/errors.hpp"
#include "comm/cuda/host_device.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019) in the order of operations of
/// LibTorch 2.11's fused CPU kernel as built with FMA.
struct AdamRule {
  static constexpr std::size_t kNumMoments = num_moments(OptimizerKind::kAdam);

  float weight_decay = 0.0F;   ///< Adam: added to the gradient, times the weight; 0: none
  float weight_factor = 1.0F;  ///< AdamW: 1 - lr * weight decay
  float first_share = 0.0F;    ///< 1 - beta1
  float second_keep = 0.0F;    ///< beta2
  float second_share = 0.0F;   ///< 1 - beta2
  float second_root = 1.0F;    ///< sqrt(1 - beta2^t)
  float eps = 0.0F;
  float step_size = 0.0F;  ///< lr / (1 - beta1^t)

  [[nodiscard]] static AdamRule of(const OptimizerSpec& settings, std::int64_t update) {
    const auto t = static_cast<double>(update);
    const auto [beta1, beta2] = settings.betas;
    const bool is_decoupled = settings.kind == OptimizerKind::kAdamW;
    AdamRule rule;
    rule.weight_decay = is_decoupled ? 0.0F : static_cast<float>(settings.weight_decay);
    rule.weight_factor =
        is_decoupled ? static_cast<float>(1.0 - settings.lr * settings.weight_decay) : 1.0F;
    rule.first_share = static_cast<float>(1.0 - beta1);
    rule.second_keep = static_cast<float>(beta2);
    rule.second_share = static_cast<float>(1.0 - beta2);
    rule.second_root = static_cast<float>(std::sqrt(1.0 - std::pow(beta2, t)));
    rule.eps = static_cast<float>(settings.eps);
    rule.step_size = static_cast<float>(settings.lr / (1.0 - std::pow(beta1, t)));
    return rule;
  }

  GANGWAY_HOST_DEVICE void update(float gradient, float& weight, float* moments) const {
    float& first = moments[0];
    float& second = moments[1];
    if (weight_decay != 0.0F) {
      gradient = fmaf(weight, weight_decay, gradient);
    }
    if (weight_factor != 1.0F) {
      weight = weight * weight_factor;
    }
    // Linear interpolation from the nearer end, as at::lerp does.
    const float to_gradient = gradient - first;
    first = first_share < 0.5F ? fmaf(first_share, to_gradient, first)
                               : fmaf(first_share - 1.0F, to_gradient, gradient);
    second = fmaf(second_share * gradient, gradient, second * second_keep);
    const float denominator = sqrtf(second) / second_root + eps;
    weight = weight - step_size * first / denominator;
  }
};

/// Calls `body` with the rule of `kind`, its numbers not set yet: what counts is its type.
template <typename Body>
void with_rule(OptimizerKind kind, const Body& body) {
  switch (kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return body(AdamRule{});
  }
  throw InvariantError("an optimiser has no rule for GPUs; please report this");
}

}  // namespace gangway::comm
