// SPDX-License-Identifier: MIT
#include "gan/augment/exact_gather.hpp"

#include <cmath>

#include <torch/csrc/autograd/custom_function.h>

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

at::Tensor for_channels(const at::Tensor& index, std::int64_t channels) {
  return index.unsqueeze(1).expand({index.size(0), channels, index.size(1)});
}

/// Computes the adjoint of gather: [N, C, `pixels`].
at::Tensor scattered(const at::Tensor& values, const at::Tensor& index, std::int64_t pixels) {
  // Sums stay below 2^62 even if all values of a channel meet in one pixel and log2 is off by a
  // rounding.
  const auto spare = 60.0 - std::ceil(std::log2(static_cast<double>(index.size(1))));
  constexpr double kFarthest = 1000.0;  // makes a finite exponent of 0 and infinity
  const at::Tensor largest = values.abs().amax().to(at::kDouble).reshape({1});
  const at::Tensor scale =
      at::exp2(spare - largest.log2().ceil().clamp(-kFarthest + spare, kFarthest));
  const at::Tensor sums =
      at::zeros({values.size(0), values.size(1), pixels}, values.options().dtype(at::kLong));
  if (values.is_cuda() && values.scalar_type() == at::kFloat && add_scaled_on_device != nullptr) {
    add_scaled_on_device(values.contiguous(), index.contiguous(), scale, sums);
  } else {
    sums.scatter_add_(2, for_channels(index, values.size(1)),
                      (values.to(at::kDouble) * scale).round().to(at::kLong));
  }
  return (sums.to(at::kDouble) / scale + largest * 0.0).to(values.scalar_type());
}

struct ExactGather : torch::autograd::Function<ExactGather> {
  static Variable forward(AutogradContext* context, const Variable& pictures,
                          const at::Tensor& index) {
    context->save_for_backward({index});
    context->saved_data["pixels"] = pictures.size(2);
    return pictures.gather(2, for_channels(index, pictures.size(1)));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

struct ExactScatter : torch::autograd::Function<ExactScatter> {
  static Variable forward(AutogradContext* context, const Variable& values, const at::Tensor& index,
                          std::int64_t pixels) {
    context->save_for_backward({index});
    return scattered(values, index, pixels);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {ExactGather::apply(gradients[0], context->get_saved_variables()[0]), {}, {}};
  }
};

variable_list ExactGather::backward(AutogradContext* context, const variable_list& gradients) {
  return {ExactScatter::apply(gradients[0], context->get_saved_variables()[0],
                              context->saved_data["pixels"].toInt()),
          {}};
}

}  // namespace

at::Tensor exactly_gathered(const at::Tensor& pictures, const at::Tensor& index) {
  return ExactGather::apply(pictures, index);
}

}  // namespace gangway::gan
