// SPDX-License-Identifier: MIT
#include "gan/kernels/dense_map.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Smaller weights stay in caches, so they gain nothing.
constexpr std::int64_t kLargeElements = std::int64_t{1} << 20;
/// With more rows, MKL's products of both orders take equally long.
constexpr std::int64_t kFewRows = 48;
constexpr std::int64_t kElementsAtOnce = std::int64_t{1} << 16;

/// Computes sum[i] += addend[i] in float32.
GANGWAY_CPU_VERSIONS void add_to(float* sum, const c10::BFloat16* addend, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; i += kLanes) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, elements - i));
    Lanes left;
    Lanes right;
    load(sum + i, lanes, left);
    load(addend + i, lanes, right);
    left += right;
    store(left, lanes, sum + i);
  }
}

/// Adds rows^T x to `sum`, without a temporary of that size if LibTorch can.
void add_product(const at::Tensor& rows, const at::Tensor& x, at::Tensor& sum) {
  if (x.scalar_type() == at::kFloat) {
    sum.addmm_(rows.t(), x);
    return;
  }
  const at::Tensor product = at::mm(rows.t(), x).contiguous();
  const auto* addend = product.const_data_ptr<at::BFloat16>();
  auto* to = sum.mutable_data_ptr<float>();
  at::parallel_for(0, product.numel(), kElementsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    add_to(to + begin, addend + begin, end - begin);
  });
}

/// Returns whether the backward pass adds the gradient of this leaf to its grad(), as backward()
/// does and grad() does not.
bool is_accumulated(const at::Tensor& weight) {
  const auto* wanted = torch::autograd::get_current_graph_task_exec_info();
  if (wanted == nullptr || wanted->empty()) {
    return true;  // of all leaves
  }
  const auto adder = torch::autograd::impl::grad_accumulator(weight);
  const auto found = wanted->find(adder.get());
  return found != wanted->end() && found->second.needed_ && found->second.captures_ == nullptr;
}

/// Returns a gradient without elements, which autograd accumulates (hooks included) without effect.
at::Tensor nothing_like(const at::Tensor& weight) {
  return at::_sparse_coo_tensor_unsafe(at::empty({weight.dim(), 0}, at::kLong),
                                       at::empty({0}, weight.options()), weight.sizes(),
                                       weight.options().layout(at::kSparse), /*is_coalesced=*/true);
}

struct DenseMap : torch::autograd::Function<DenseMap> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight) {
    const at::Tensor factor = weight.to(x.scalar_type());
    context->save_for_backward({x, weight});
    context->saved_data["factor"] = factor;  // the same memory, or a cast of its own
    const bool is_turned = x.scalar_type() == at::kFloat && x.size(0) <= kFewRows;
    return is_turned ? at::mm(factor, x.t()).t().contiguous() : at::mm(x, factor.t());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor rows = gradients[0].contiguous();
    const bool is_derived_again = at::GradMode::is_enabled();
    at::Tensor of_x;
    at::Tensor of_weight;
    if (context->needs_input_grad(0)) {
      of_x = at::mm(rows, is_derived_again ? weight.to(x.scalar_type())
                                           : context->saved_data["factor"].toTensor());
    }
    if (context->needs_input_grad(1)) {
      at::Tensor& sum = weight.mutable_grad();
      if (!is_derived_again && is_accumulated(weight) && sum.defined() && sum.is_contiguous()) {
        add_product(rows, x, sum);
        of_weight = nothing_like(weight);
      } else {
        of_weight = at::mm(rows.t(), x).to(weight.scalar_type());
      }
    }
    return {of_x, of_weight};
  }
};

}  // namespace

at::Tensor map_densely(const at::Tensor& x, const at::Tensor& weight) {
  return DenseMap::apply(x.contiguous(), weight);
}

bool is_large_map(const at::Tensor& x, const at::Tensor& weight) {
  return x.is_cpu() && x.dim() == 2 && weight.dim() == 2 && weight.numel() >= kLargeElements &&
         weight.is_leaf() && weight.scalar_type() == at::kFloat && weight.is_contiguous() &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

}  // namespace gangway::gan
