// SPDX-License-Identifier: MIT
// Computes the optimisers of job/optimizers.hpp on one element. CPU and GPU share the source, with
// the bits of gan/optimizer.hpp on CPUs with FMA. Both compilers give equal bits because it uses
// only IEEE operations, explicit fused multiply-adds, and no contraction. Included by .cpp and .cu
// files.
//
// A rule holds the numbers of one update, all floats, and has these members:
//
//   kNumMoments                          the number of moments, as in the table
//   static Rule of(settings, update)     host: @param update  the update's number, from 1 on
//   update(gradient, weight, moments)    both: changes one weight and its kNumMoments moments
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/errors.hpp"
#include "comm/cuda/host_device.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), in the order of operations
/// of LibTorch 2.11's fused CPU kernel built with FMA.
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
    // Interpolate from the nearer end, as at::lerp does.
    const float to_gradient = gradient - first;
    first = first_share < 0.5F ? fmaf(first_share, to_gradient, first)
                               : fmaf(first_share - 1.0F, to_gradient, gradient);
    second = fmaf(second_share * gradient, gradient, second * second_keep);
    const float denominator = sqrtf(second) / second_root + eps;
    weight = weight - step_size * first / denominator;
  }
};

/// RMSprop (Tieleman and Hinton, 2012), not centred, with momentum.
struct RmspropRule {
  static constexpr std::size_t kNumMoments = num_moments(OptimizerKind::kRmsprop);

  float lr = 0.0F;
  float keep = 0.0F;   ///< alpha
  float share = 0.0F;  ///< 1 - alpha
  float eps = 0.0F;
  float weight_decay = 0.0F;
  float momentum = 0.0F;

  [[nodiscard]] static RmspropRule of(const OptimizerSpec& settings, std::int64_t /*update*/) {
    RmspropRule rule;
    rule.lr = static_cast<float>(settings.lr);
    rule.keep = static_cast<float>(settings.alpha);
    rule.share = static_cast<float>(1.0 - settings.alpha);
    rule.eps = static_cast<float>(settings.eps);
    rule.weight_decay = static_cast<float>(settings.weight_decay);
    rule.momentum = static_cast<float>(settings.momentum);
    return rule;
  }

  GANGWAY_HOST_DEVICE void update(float gradient, float& weight, float* moments) const {
    float& direction = moments[0];
    float& square = moments[1];
    gradient = gradient + weight_decay * weight;
    square = square * keep + share * gradient * gradient;
    direction = direction * momentum + gradient / (sqrtf(square) + eps);
    weight = weight - lr * direction;
  }
};

/// Gradient descent with momentum (Sutskever et al., 2013, eq. 1, with the learning rate outside,
/// as in PyTorch).
struct SgdRule {
  static constexpr std::size_t kNumMoments = num_moments(OptimizerKind::kSgd);

  float lr = 0.0F;
  float weight_decay = 0.0F;
  float momentum = 0.0F;

  [[nodiscard]] static SgdRule of(const OptimizerSpec& settings, std::int64_t /*update*/) {
    SgdRule rule;
    rule.lr = static_cast<float>(settings.lr);
    rule.weight_decay = static_cast<float>(settings.weight_decay);
    rule.momentum = static_cast<float>(settings.momentum);
    return rule;
  }

  GANGWAY_HOST_DEVICE void update(float gradient, float& weight, float* moments) const {
    float& direction = moments[0];
    gradient = gradient + weight_decay * weight;
    direction = direction * momentum + gradient;
    weight = weight - lr * direction;
  }
};

/// Lion (Chen et al., 2023, algorithm 2).
struct LionRule {
  static constexpr std::size_t kNumMoments = num_moments(OptimizerKind::kLion);

  float lr = 0.0F;
  float weight_decay = 0.0F;
  float sign_keep = 0.0F;   ///< beta1
  float sign_share = 0.0F;  ///< 1 - beta1
  float keep = 0.0F;        ///< beta2
  float share = 0.0F;       ///< 1 - beta2

  [[nodiscard]] static LionRule of(const OptimizerSpec& settings, std::int64_t /*update*/) {
    const auto [beta1, beta2] = settings.betas;
    LionRule rule;
    rule.lr = static_cast<float>(settings.lr);
    rule.weight_decay = static_cast<float>(settings.weight_decay);
    rule.sign_keep = static_cast<float>(beta1);
    rule.sign_share = static_cast<float>(1.0 - beta1);
    rule.keep = static_cast<float>(beta2);
    rule.share = static_cast<float>(1.0 - beta2);
    return rule;
  }

  GANGWAY_HOST_DEVICE void update(float gradient, float& weight, float* moments) const {
    float& momentum = moments[0];
    const float direction = momentum * sign_keep + sign_share * gradient;
    const float sign = direction > 0.0F ? 1.0F : direction < 0.0F ? -1.0F : direction;
    weight = weight - lr * (sign + weight_decay * weight);
    momentum = momentum * keep + share * gradient;
  }
};

/// Calls `body` with a default-made rule of `kind`; only its type matters.
template <typename Body>
void with_rule(OptimizerKind kind, const Body& body) {
  switch (kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return body(AdamRule{});
    case OptimizerKind::kRmsprop:
      return body(RmspropRule{});
    case OptimizerKind::kSgd:
      return body(SgdRule{});
    case OptimizerKind::kLion:
      return body(LionRule{});
  }
  throw InvariantError("an optimiser has no rule for GPUs; please report this");
}

}  // namespace gangway::comm
