// SPDX-License-Identifier: MIT
#include "gan/kernels/fused_norm.hpp"

#include <vector>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "gan/kernels/norm_loops.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Minimum channels of a thread: a whole cache line.
constexpr std::int64_t kChannelsAtOnce = 64;

bool is_last(const at::Tensor& x) {
  return x.dim() == 2 ? x.is_contiguous() : x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

FeatureShape shape_of(const at::Tensor& x) {
  const std::int64_t channels = x.size(1);
  return is_last(x) ? FeatureShape{x.numel() / channels, channels, 1}
                    : FeatureShape{x.size(0), channels, x.size(2) * x.size(3)};
}

/// Calls body(channels) for all channels, divided among the threads.
template <typename Body>
void for_all_channels(const FeatureShape& shape, const Body& body) {
  const std::int64_t parts = (shape.channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    body(ChannelRange{begin * kChannelsAtOnce, std::min(end * kChannelsAtOnce, shape.channels)});
  });
}

struct FusedNorm : torch::autograd::Function<FusedNorm> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& gain, const at::Tensor& shift, double epsilon,
                               double slope) {
    const FeatureShape shape = shape_of(x);
    at::Tensor y = at::empty_like(x);
    RECORD_FUNCTION("gangway::norm", (std::vector<c10::IValue>{x, y}));
    const at::Tensor mean = at::empty_like(gain);
    const at::Tensor variance = at::empty_like(gain);
    const at::Tensor deviation_inverse = at::empty_like(gain);
    const NormForward with{.gain = gain.const_data_ptr<float>(),
                           .shift = shift.const_data_ptr<float>(),
                           .epsilon = epsilon,
                           .slope = static_cast<float>(slope),
                           .mean = mean.mutable_data_ptr<float>(),
                           .deviation_inverse = deviation_inverse.mutable_data_ptr<float>(),
                           .variance = variance.mutable_data_ptr<float>()};
    for_all_channels(shape, [&](ChannelRange channels) {
      if (x.scalar_type() == at::kFloat) {
        norm_forward(shape, channels, with, x.const_data_ptr<float>(), y.mutable_data_ptr<float>());
      } else {
        norm_forward(shape, channels, with, x.const_data_ptr<at::BFloat16>(),
                     y.mutable_data_ptr<at::BFloat16>());
      }
    });
    context->save_for_backward({x, gain, shift, mean, deviation_inverse});
    context->saved_data["slope"] = slope;
    context->saved_data["epsilon"] = epsilon;
    context->mark_non_differentiable({mean, variance});
    return {y, mean, variance};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (at::GradMode::is_enabled()) {
      return derived_again(*context, saved, gradients[0]);
    }
    const at::Tensor& x = saved[0];
    const FeatureShape shape = shape_of(x);
    const at::Tensor gradient =
        gradients[0]
            .to(x.scalar_type())
            .contiguous(is_last(x) && x.dim() == 4 ? at::MemoryFormat::ChannelsLast
                                                   : at::MemoryFormat::Contiguous);
    const at::Tensor of_x = at::empty_like(x);
    RECORD_FUNCTION("gangway::norm_backward", (std::vector<c10::IValue>{x, gradient, of_x}));
    const at::Tensor of_gain = at::empty_like(saved[1]);
    const at::Tensor of_shift = at::empty_like(saved[2]);
    const NormBackward with{.gain = saved[1].const_data_ptr<float>(),
                            .shift = saved[2].const_data_ptr<float>(),
                            .slope = static_cast<float>(context->saved_data["slope"].toDouble()),
                            .mean = saved[3].const_data_ptr<float>(),
                            .deviation_inverse = saved[4].const_data_ptr<float>(),
                            .of_gain = of_gain.mutable_data_ptr<float>(),
                            .of_shift = of_shift.mutable_data_ptr<float>()};
    for_all_channels(shape, [&](ChannelRange channels) {
      if (x.scalar_type() == at::kFloat) {
        norm_backward(shape, channels, with, x.const_data_ptr<float>(),
                      gradient.const_data_ptr<float>(), of_x.mutable_data_ptr<float>());
      } else {
        norm_backward(shape, channels, with, x.const_data_ptr<at::BFloat16>(),
                      gradient.const_data_ptr<at::BFloat16>(),
                      of_x.mutable_data_ptr<at::BFloat16>());
      }
    });
    return {of_x, of_gain, of_shift, {}, {}};
  }

  /// Returns the same gradients with a graph, by LibTorch's operators.
  static variable_list derived_again(AutogradContext& context, const variable_list& saved,
                                     const at::Tensor& gradient) {
    // Aliases, because one of the inputs may depend on another.
    const variable_list inputs{at::alias(saved[0]), at::alias(saved[1]), at::alias(saved[2])};
    const at::Tensor z = std::get<0>(
        at::native_batch_norm(inputs[0], inputs[1], inputs[2], {}, {}, /*training=*/true,
                              /*momentum=*/0.0, context.saved_data["epsilon"].toDouble()));
    const at::Tensor y = at::leaky_relu(z, context.saved_data["slope"].toDouble());
    std::vector<std::size_t> places;
    variable_list wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (context.needs_input_grad(i)) {
        places.push_back(i);
        wanted.push_back(inputs[i]);
      }
    }
    const variable_list found =
        torch::autograd::grad({y}, wanted, {gradient}, /*retain_graph=*/true,
                              /*create_graph=*/true);
    variable_list made(kInputs);
    for (std::size_t i = 0; i < places.size(); ++i) {
      made[places[i]] = found[i];
    }
    return made;
  }

  static constexpr std::size_t kInputs = 5;  // of forward
};

}  // namespace

NormedFeatures normed_and_activated(const at::Tensor& x, const at::Tensor& gain,
                                    const at::Tensor& shift, double epsilon, double slope) {
  const variable_list made = FusedNorm::apply(x, gain, shift, epsilon, slope);
  return {made[0], made[1], made[2]};
}

bool can_norm(const at::Tensor& x, const at::Tensor& gain) {
  return x.is_cpu() && x.numel() > 0 && gain.scalar_type() == at::kFloat &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
         (x.dim() == 2 || x.dim() == 4) && (is_last(x) || x.is_contiguous());
}

}  // namespace gangway::gan
