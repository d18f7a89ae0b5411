// SPDX-License-Identifier: MIT
#include "gan/kernels/convolution.hpp"

#include <array>
#include <map>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "gan/kernels/library_warnings.hpp"

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

/// Returns gradients of input, weight and bias; undefined if not wanted. Runs below autograd.
std::array<at::Tensor, 3> gradients_of(const at::Tensor& gradient, const at::Tensor& x,
                                       const at::Tensor& weight, const ConvolutionPlaces& places,
                                       std::array<bool, 3> wanted) {
  const at::AutoDispatchBelowADInplaceOrView below;
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
    keep(*context, places);
    return gradients_of(gradient, x, weight, places, {false, true, false})[1];
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& gradient = saved[0];
    const at::Tensor& x = saved[1];
    const at::Tensor& of_weight = gradients[0];  // in the weight's shape
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

struct Convolution : torch::autograd::Function<Convolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const ConvolutionPlaces& places) {
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value() && bias->defined();
    keep(*context, places);
    const at::AutoDispatchBelowADInplaceOrView below;
    return at::convolution(x, weight, bias, places.stride, places.padding, places.dilation,
                           places.is_transposed, places.output_padding, places.groups);
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
    auto [of_x, of_weight, of_bias] =
        at::GradMode::is_enabled() ? convolution_gradients(gradient, x, weight, places, wanted)
                                   : gradients_of(gradient, x, weight, places, wanted);
    return {of_x, of_weight, of_bias, {}};
  }
};

std::vector<std::int64_t> vector_of(c10::SymIntArrayRef values) {
  return C10_AS_INTARRAYREF_SLOW(values).vec();
}

/// Replaces LibTorch's own kernel in the dispatcher.
at::Tensor derived_well(const at::Tensor& x, const at::Tensor& weight,
                        const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                        c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                        bool is_transposed, c10::SymIntArrayRef output_padding,
                        c10::SymInt groups) {
  return convolved(x, weight, bias,
                   {.stride = vector_of(stride),
                    .padding = vector_of(padding),
                    .dilation = vector_of(dilation),
                    .is_transposed = is_transposed,
                    .output_padding = vector_of(output_padding),
                    .groups = groups.expect_int()});
}

}  // namespace

at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias, const ConvolutionPlaces& places) {
  return Convolution::apply(x, weight, bias, places);
}

std::array<at::Tensor, 3> convolution_gradients(const at::Tensor& gradient, const at::Tensor& x,
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
