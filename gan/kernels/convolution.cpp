// SPDX-License-Identifier: MIT
#include "gan/kernels/convolution.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "gan/kernels/library_warnings.hpp"
#include "gan/kernels/picture_maps.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Saves `places` as values of LibTorch's types, which is all that a Function can keep.
void keep(AutogradContext& context, const ConvolutionPlaces& places) {
  context.saved_data["stride"] = places.stride;
  context.saved_data["padding"] = places.padding;
  context.saved_data["dilation"] = places.dilation;
  context.saved_data["is_transposed"] = places.is_transposed;
  context.saved_data["output_padding"] = places.output_padding;
  context.saved_data["groups"] = places.groups;
}

ConvolutionPlaces kept(AutogradContext& context) {
  return {.stride = context.saved_data["stride"].toIntVector(),
          .padding = context.saved_data["padding"].toIntVector(),
          .dilation = context.saved_data["dilation"].toIntVector(),
          .is_transposed = context.saved_data["is_transposed"].toBool(),
          .output_padding = context.saved_data["output_padding"].toIntVector(),
          .groups = context.saved_data["groups"].toInt()};
}

/// Returns the places of the adjoint, which maps gradients to pictures of the size of `x`.
ConvolutionPlaces adjoint(const ConvolutionPlaces& places, const at::Tensor& x,
                          const at::Tensor& gradient, const at::Tensor& weight) {
  ConvolutionPlaces back = places;
  back.is_transposed = !places.is_transposed;
  for (std::size_t i = 0; i < back.stride.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) + 2;
    const std::int64_t least = (gradient.size(at) - 1) * places.stride[i] - 2 * places.padding[i] +
                               places.dilation[i] * (weight.size(at) - 1) + 1;
    back.output_padding[i] = back.is_transposed ? x.size(at) - least : 0;
  }
  return back;
}

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

/// Returns the kernel's places if Gangway's CPU products support this convolution. The weight names
/// the memory format: in memory, pictures of one channel are both.
std::optional<KernelPlaces> own_places(const at::Tensor& x, const at::Tensor& weight,
                                       const ConvolutionPlaces& places) {
  const auto is_square = [](const std::vector<std::int64_t>& sides) {
    return sides.size() == 2 && sides[0] == sides[1];
  };
  const at::ScalarType type = x.scalar_type();
  if (!x.is_cpu() || x.dim() != 4 || weight.dim() != 4 || x.numel() == 0 ||
      (type != at::kFloat && type != at::kBFloat16) || weight.scalar_type() != type ||
      !weight.is_contiguous(kLast) || weight.suggest_memory_format() != kLast ||
      weight.size(2) != weight.size(3) || x.size(1) != weight.size(places.is_transposed ? 0 : 1) ||
      places.groups != 1 || !is_square(places.stride) || !is_square(places.padding) ||
      places.dilation != std::vector<std::int64_t>{1, 1} ||
      (places.is_transposed && std::ranges::max(places.output_padding) >= places.stride[0])) {
    return std::nullopt;
  }
  const KernelPlaces own{weight.size(2), places.stride[0], places.padding[0]};
  const std::int64_t least = std::min(x.size(2), x.size(3));
  const std::int64_t room = places.is_transposed
                                ? (least - 1) * own.stride - 2 * own.padding + own.kernel - 1
                                : least + 2 * own.padding - own.kernel;
  return room < 0 || own.stride < 1 || own.padding < 0 ? std::nullopt : std::optional(own);
}

/// Convolves without a graph.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight,
                   const std::optional<at::Tensor>& bias, const ConvolutionPlaces& places) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const std::optional<KernelPlaces> own = own_places(x, weight, places);
  if (!own || !is_bias_of(bias, weight.size(places.is_transposed ? 1 : 0))) {
    return at::convolution(x, weight, bias, places.stride, places.padding, places.dilation,
                           places.is_transposed, places.output_padding, places.groups);
  }
  if (!places.is_transposed) {
    return gathered_pictures(x.contiguous(kLast), weight, bias, *own);
  }
  const auto larger = [&](std::int64_t side) {
    return (x.size(side + 2) - 1) * own->stride - 2 * own->padding + own->kernel +
           places.output_padding[static_cast<std::size_t>(side)];
  };
  at::Tensor y = spread_pictures(x.contiguous(kLast), weight,
                                 {x.size(0), weight.size(1), larger(0), larger(1)}, *own);
  return bias ? y.add_(bias->reshape({1, -1, 1, 1})) : y;
}

/// Returns gradients of input, weight and bias; undefined if not wanted. Runs below autograd.
std::array<at::Tensor, 3> gradients_of(const at::Tensor& gradient, const at::Tensor& x,
                                       const at::Tensor& weight, const ConvolutionPlaces& places,
                                       std::array<bool, 3> wanted) {
  const at::AutoDispatchBelowADInplaceOrView below;
  if (const std::optional<KernelPlaces> own = own_places(x, weight, places)) {
    const at::Tensor made = gradient.contiguous(kLast);
    const at::Tensor from = x.contiguous(kLast);
    return {
        wanted[0] ? product(made, weight, {}, adjoint(places, x, gradient, weight)) : at::Tensor(),
        !wanted[1]             ? at::Tensor()
        : places.is_transposed ? weight_gradient_of(made, from, weight, *own)
                               : weight_gradient_of(from, made, weight, *own),
        wanted[2] ? made.sum({0, 2, 3}) : at::Tensor()};
  }
  const std::vector<std::int64_t> bias{weight.size(places.is_transposed ? 1 : 0) *
                                       (places.is_transposed ? places.groups : 1)};
  auto [of_x, of_weight, of_bias] = at::convolution_backward(
      gradient, x, weight, at::OptionalIntArrayRef(bias), places.stride, places.padding,
      places.dilation, places.is_transposed, places.output_padding, places.groups, wanted);
  return {of_x, of_weight, of_bias};
}

/// Gradient of a convolution's weight, which can be differentiated further.
struct WeightGradient : torch::autograd::Function<WeightGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gradient,
                            const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionPlaces& places) {
    context->save_for_backward({gradient, x});
    context->saved_data["format"] = static_cast<std::int64_t>(weight.suggest_memory_format());
    keep(*context, places);
    return gradients_of(gradient, x, weight, places, {false, true, false})[1];
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& gradient = saved[0];
    const at::Tensor& x = saved[1];
    const at::Tensor of_weight = gradients[0].contiguous(  // in the weight's shape
        static_cast<at::MemoryFormat>(context->saved_data["format"].toInt()));
    const ConvolutionPlaces places = kept(*context);
    at::Tensor of_gradient;
    at::Tensor of_x;
    if (context->needs_input_grad(0)) {
      of_gradient = convolved(x, of_weight, std::nullopt, places);
    }
    if (context->needs_input_grad(1)) {
      of_x = convolved(gradient, of_weight, std::nullopt, adjoint(places, x, gradient, of_weight));
    }
    return {of_gradient, of_x, {}, {}};
  }
};

/// Returns the same gradients with a graph.
std::array<at::Tensor, 3> derivable_gradients(const at::Tensor& gradient, const at::Tensor& x,
                                              const at::Tensor& weight,
                                              const ConvolutionPlaces& places,
                                              std::array<bool, 3> wanted) {
  std::array<at::Tensor, 3> made;
  if (wanted[0]) {
    made[0] = convolved(gradient, weight, std::nullopt, adjoint(places, x, gradient, weight));
  }
  if (wanted[1]) {
    made[1] = WeightGradient::apply(gradient, x, weight, places);
  }
  if (wanted[2]) {
    made[2] = gradient.transpose(0, 1).flatten(1).sum(1);
  }
  return made;
}

struct Convolution : torch::autograd::Function<Convolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const ConvolutionPlaces& places) {
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value() && bias->defined();
    keep(*context, places);
    return product(x, weight, bias, places);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& gradient = gradients[0];
    const ConvolutionPlaces places = kept(*context);
    const std::array<bool, 3> wanted{
        context->needs_input_grad(0), context->needs_input_grad(1),
        context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)};
    auto [of_x, of_weight, of_bias] = at::GradMode::is_enabled()
                                          ? derivable_gradients(gradient, x, weight, places, wanted)
                                          : gradients_of(gradient, x, weight, places, wanted);
    return {of_x, of_weight, of_bias, {}};
  }
};

/// Replaces LibTorch's own kernel in the dispatcher.
at::Tensor derived_well(const at::Tensor& x, const at::Tensor& weight,
                        const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                        c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                        bool is_transposed, c10::SymIntArrayRef output_padding,
                        c10::SymInt groups) {
  const auto sides = static_cast<std::size_t>(weight.dim() - 2);
  return convolved(x, weight, bias,
                   {.stride = by_side(stride, sides),
                    .padding = by_side(padding, sides),
                    .dilation = by_side(dilation, sides),
                    .is_transposed = is_transposed,
                    .output_padding = by_side(output_padding, sides),
                    .groups = groups.expect_int()});
}

}  // namespace

std::vector<std::int64_t> by_side(c10::SymIntArrayRef values, std::size_t sides) {
  std::vector<std::int64_t> numbers = C10_AS_INTARRAYREF_SLOW(values).vec();
  if (numbers.size() == 1) {
    numbers.resize(sides, numbers.front());
  }
  return numbers;
}

bool is_bias_of(const std::optional<at::Tensor>& bias, std::int64_t channels) {
  return !bias || bias->sizes() == at::IntArrayRef(channels);
}

at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias, const ConvolutionPlaces& places) {
  return Convolution::apply(x, weight, bias, places);
}

void derive_convolutions_well(c10::DispatchKey key) {
  static std::map<c10::DispatchKey, torch::Library> replaced;
  if (replaced.contains(key)) {
    return;
  }
  Silent silent;
  const c10::WarningUtils::WarningHandlerGuard guard(&silent);
  torch::Library library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  library.impl("convolution", &derived_well);
  replaced.emplace(key, std::move(library));
}

}  // namespace gangway::gan
