// SPDX-License-Identifier: MIT
#include "gan/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "gan/torch.hpp"

namespace gangway::gan {
namespace {

/// Overloads of at::_fused_adam_ and at::_fused_adamw_ with a number as learning rate.
using FusedStep = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, at::TensorList, double, double, double, double, double,
                           bool, bool, const std::optional<at::Tensor>&,
                           const std::optional<at::Tensor>&);

at::Tensor as_tensor(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

/// Returns the schedule of the second moment's decay.
ScheduleSpec beta2_course(const NetworkSpec& spec) {
  return spec.final_beta2 > 0.0
             ? ScheduleSpec{.decay = DecayKind::kCosine, .final_value = spec.final_beta2}
             : spec.beta2_schedule;
}

/// Runs Adam or AdamW with LibTorch's fused kernels.
void adam_step(const OptimizerSpec& settings, std::int64_t update, const OptimizerSlice& slice) {
  std::vector<at::Tensor> weights{as_tensor(slice.weights)};
  // The kernels declare the gradient mutable but only read it, without a gradient scale.
  std::vector<at::Tensor> gradients{
      as_tensor({const_cast<float*>(slice.gradient.data()), slice.gradient.size()})};
  std::vector<at::Tensor> first{as_tensor(slice.moments[0])};
  std::vector<at::Tensor> second{as_tensor(slice.moments[1])};
  const std::vector<at::Tensor> steps{at::scalar_tensor(static_cast<double>(update), at::kFloat)};
  const FusedStep run = settings.kind == OptimizerKind::kAdam
                            ? static_cast<FusedStep>(at::_fused_adam_)
                            : static_cast<FusedStep>(at::_fused_adamw_);
  run(weights, gradients, first, second, {}, steps, settings.lr, settings.betas[0],
      settings.betas[1], settings.weight_decay, settings.eps, /*amsgrad=*/false,
      /*maximize=*/false, std::nullopt, std::nullopt);
}

// The loops below have one operation for each rounding, so every compiler gives the same bits, and
// so does comm/cuda/optimizer_rules.hpp.

/// As torch.optim.RMSprop with `momentum` above 0, not centred. With 0 the quotient is rounded once
/// more here, before the rate.
void rmsprop_step(const OptimizerSpec& settings, const OptimizerSlice& slice) {
  const auto lr = static_cast<float>(settings.lr);
  const auto keep = static_cast<float>(settings.alpha);
  const auto share = static_cast<float>(1.0 - settings.alpha);
  const auto eps = static_cast<float>(settings.eps);
  const auto decay = static_cast<float>(settings.weight_decay);
  const auto momentum = static_cast<float>(settings.momentum);
  for (std::size_t i = 0; i < slice.weights.size(); ++i) {
    float& weight = slice.weights[i];
    float& direction = slice.moments[0][i];
    float& square = slice.moments[1][i];
    const float gradient = slice.gradient[i] + decay * weight;
    square = square * keep + share * gradient * gradient;
    direction = direction * momentum + gradient / (std::sqrt(square) + eps);
    weight = weight - lr * direction;
  }
}

/// As torch.optim.SGD, without dampening and Nesterov momentum.
void sgd_step(const OptimizerSpec& settings, const OptimizerSlice& slice) {
  const auto lr = static_cast<float>(settings.lr);
  const auto decay = static_cast<float>(settings.weight_decay);
  const auto momentum = static_cast<float>(settings.momentum);
  for (std::size_t i = 0; i < slice.weights.size(); ++i) {
    float& weight = slice.weights[i];
    float& direction = slice.moments[0][i];
    const float gradient = slice.gradient[i] + decay * weight;
    direction = direction * momentum + gradient;
    weight = weight - lr * direction;
  }
}

/// Returns -1 or 1; returns zero and NaN unchanged, so that NaN stays visible.
float sign_of(float value) { return value > 0.0F ? 1.0F : value < 0.0F ? -1.0F : value; }

/// Chen et al., 2023, algorithm 2.
void lion_step(const OptimizerSpec& settings, const OptimizerSlice& slice) {
  const auto lr = static_cast<float>(settings.lr);
  const auto decay = static_cast<float>(settings.weight_decay);
  const auto [beta1, beta2] = settings.betas;
  const auto sign_keep = static_cast<float>(beta1);
  const auto sign_share = static_cast<float>(1.0 - beta1);
  const auto keep = static_cast<float>(beta2);
  const auto share = static_cast<float>(1.0 - beta2);
  for (std::size_t i = 0; i < slice.weights.size(); ++i) {
    float& weight = slice.weights[i];
    float& momentum = slice.moments[0][i];
    const float gradient = slice.gradient[i];
    const float sign = sign_of(momentum * sign_keep + sign_share * gradient);
    weight = weight - lr * (sign + decay * weight);
    momentum = momentum * keep + share * gradient;
  }
}

}  // namespace

void optimizer_step(const OptimizerSpec& settings, std::int64_t update,
                    const OptimizerSlice& slice) {
  const at::NoGradGuard no_grad;
  switch (settings.kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return adam_step(settings, update, slice);
    case OptimizerKind::kRmsprop:
      return rmsprop_step(settings, slice);
    case OptimizerKind::kSgd:
      return sgd_step(settings, slice);
    case OptimizerKind::kLion:
      return lion_step(settings, slice);
  }
}

OptimizerSpec scheduled_settings(const NetworkSpec& spec, double images, double burn_in_images,
                                 double laziness) {
  if (const double interval = spec.lazy_interval; interval > 0.0) {
    laziness = interval / (interval + 1.0);
  }
  OptimizerSpec settings = spec.optimizer;
  settings.lr = settings.lr * warmup_factor(spec.schedule, images) *
                decayed(1.0, spec.schedule, images, burn_in_images) * laziness;
  settings.betas[0] = scheduled(settings.betas[0], spec.beta1_schedule, images, burn_in_images);
  settings.betas[1] = scheduled(settings.betas[1], beta2_course(spec), images, burn_in_images);
  for (const OptimizerNumber& number : row_of(settings.kind).numbers) {
    if (number.role == NumberRole::kDecay) {
      for (double& decay : number.values(settings)) {
        decay = std::pow(decay, laziness);
      }
    }
  }
  return settings;
}

double average_decay(const NetworkSpec& spec, const AveragePlace& at) {
  double half_life =
      scheduled(spec.ema_kimg, spec.ema_schedule, at.images, at.burn_in_images) * 1000.0;
  if (spec.ema_rampup.kind == RampUp::Kind::kShare) {
    half_life = std::min(half_life, spec.ema_rampup.share * (at.images - at.images_per_step));
  }
  if (half_life <= 0.0 || at.images < spec.ema_start_kimg * 1000.0) {
    return 0.0;
  }
  const double decay = std::exp2(-at.images_per_step / half_life);
  return spec.ema_rampup.kind == RampUp::Kind::kHistory
             ? std::min(decay, (1.0 + at.updates) / (10.0 + at.updates))
             : decay;
}

}  // namespace gangway::gan
