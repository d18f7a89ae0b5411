// SPDX-License-Identifier: MIT
#include "gan/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gan/torch.hpp"

namespace gangway::gan {
namespace {

/// The overloads of at::_fused_adam_ and at::_fused_adamw_ whose learning rate is a number.
using FusedStep = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, at::TensorList, double, double, double, double, double,
                           bool, bool, const std::optional<at::Tensor>&,
                           const std::optional<at::Tensor>&);

at::Tensor as_tensor(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

double decay_factor(const ScheduleSpec& schedule, double images, double burn_in_images) {
  switch (schedule.decay) {
    case DecayKind::kNone:
      return 1.0;
    case DecayKind::kCosine:
      return burnt_in(1.0, schedule.final_factor, images, burn_in_images);
    case DecayKind::kStep:
      return schedule.step_kimg > 0.0 ? std::pow(schedule.step_factor,
                                                 std::floor(images / (schedule.step_kimg * 1000.0)))
                                      : 1.0;
  }
  return 1.0;
}

/// Adam and AdamW, by LibTorch's fused kernels.
void adam_step(const OptimizerSpec& settings, std::int64_t update, const OptimizerSlice& slice) {
  std::vector<at::Tensor> weights{as_tensor(slice.weights)};
  // The fused kernels take the gradient as mutable although they only read it without a gradient
  // scale.
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

}  // namespace

void optimizer_step(const OptimizerSpec& settings, std::int64_t update,
                    const OptimizerSlice& slice) {
  const at::NoGradGuard no_grad;
  switch (settings.kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return adam_step(settings, update, slice);
  }
}

double burnt_in(double first, double last, double images, double burn_in_images) {
  // Loshchilov and Hutter, 2017, eq. 5, one cycle
  const double progress =
      burn_in_images > 0.0 ? std::clamp(images / burn_in_images, 0.0, 1.0) : 1.0;
  return last + (first - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

OptimizerSpec scheduled_settings(const NetworkSpec& spec, double images, double burn_in_images,
                                 double laziness) {
  const double warmup = spec.schedule.warmup_kimg * 1000.0;
  const double rise = warmup > 0.0 ? std::min(1.0, images / warmup) : 1.0;
  OptimizerSpec settings = spec.optimizer;
  settings.lr = settings.lr * rise * decay_factor(spec.schedule, images, burn_in_images) * laziness;
  if (spec.schedule.final_beta2 > 0.0) {
    settings.betas[1] =
        burnt_in(settings.betas[1], spec.schedule.final_beta2, images, burn_in_images);
  }
  for (const OptimizerNumber& number : row_of(settings.kind).numbers) {
    if (number.role == NumberRole::kDecay) {
      for (double& decay : number.values(settings)) {
        decay = std::pow(decay, laziness);
      }
    }
  }
  return settings;
}

}  // namespace gangway::gan
