// SPDX-License-Identifier: MIT
#include "gan/optimizer.hpp"

#include <cmath>

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

/// Of the second moment's decay.
ScheduleSpec beta2_course(const NetworkSpec& spec) {
  return spec.final_beta2 > 0.0
             ? ScheduleSpec{.decay = DecayKind::kCosine, .final_value = spec.final_beta2}
             : spec.beta2_schedule;
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

OptimizerSpec scheduled_settings(const NetworkSpec& spec, double images, double burn_in_images,
                                 double laziness) {
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

}  // namespace gangway::gan
