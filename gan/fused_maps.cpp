// SPDX-License-Identifier: MIT
#include "gan/fused_maps.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "gan/device_maps.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_channels_last(const at::Tensor& x) {
  return x.dim() == 4 && x.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

/// Returns `x` without gaps in memory, in its memory format.
at::Tensor dense(const at::Tensor& x) { return x.contiguous(x.suggest_memory_format()); }

cuda::Activation activation_of(const at::Tensor& x, double slope, double gain) {
  const bool lie_apart = x.dim() == 4 && !is_channels_last(x);
  return {.elements = x.numel(),
          .channels = x.size(1),
          .inner = lie_apart ? x.size(2) * x.size(3) : 1,
          .slope = static_cast<float>(slope),
          .gain = static_cast<float>(gain)};
}

/// Gradient of the activation; linear in its gradient, so it is its own derivative.
struct ActivationGradient final : torch::autograd::Function<ActivationGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gradient,
                            const at::Tensor& y, double slope, double gain) {
    context->save_for_backward({y});
    context->saved_data["slope"] = slope;
    context->saved_data["gain"] = gain;
    const at::Tensor out = at::empty_like(y);
    activate_gradient_on_device(activation_of(y, slope, gain),
                                gradient.contiguous(y.suggest_memory_format()), y, out);
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    // The derivative by y is zero because leaky ReLU is linear on either side.
    return {ActivationGradient::apply(gradients.front(), context->get_saved_variables().front(),
                                      context->saved_data["slope"].toDouble(),
                                      context->saved_data["gain"].toDouble()),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

struct FusedActivation final : torch::autograd::Function<FusedActivation> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& bias, double slope, double gain) {
    const at::Tensor maps = dense(x);
    at::Tensor out = at::empty_like(maps);
    activate_on_device(activation_of(maps, slope, gain), maps, bias.value_or(at::Tensor()), out);
    context->save_for_backward({out});
    context->saved_data["slope"] = slope;
    context->saved_data["gain"] = gain;
    context->saved_data["has_bias"] = bias.has_value();
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor y = context->get_saved_variables().front();
    const at::Tensor by_x =
        ActivationGradient::apply(gradients.front(), y, context->saved_data["slope"].toDouble(),
                                  context->saved_data["gain"].toDouble());
    at::Tensor by_bias;
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(1)) {
      by_bias =
          y.dim() == 4 ? by_x.sum({0, 2, 3}, false, at::kFloat) : by_x.sum({0}, false, at::kFloat);
    }
    return {by_x, by_bias, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool is_fused(const at::Tensor& x) { return has_kernels_for != nullptr && has_kernels_for(x); }

at::Tensor fused_activation(const at::Tensor& x, const std::optional<at::Tensor>& bias,
                            double slope, double gain) {
  return FusedActivation::apply(x, bias, slope, gain);
}

at::Tensor fused_resampling(const at::Tensor& x, const MapResampling& to) {
  const at::Tensor maps = dense(x);
  at::Tensor out = at::empty({x.size(0), x.size(1), to.height, to.width},
                             x.options().memory_format(maps.suggest_memory_format()));
  resample_on_device({.in = {x.size(0), x.size(1), x.size(2), x.size(3)},
                      .out = {x.size(0), x.size(1), to.height, to.width},
                      .channels_last = is_channels_last(maps),
                      .up = to.up,
                      .down = to.down,
                      .padding = to.padding,
                      .gain = static_cast<float>(to.gain)},
                     maps, out);
  return out;
}

}  // namespace gangway::gan
