// SPDX-License-Identifier: MIT
#include "gan/kernels/library_calls.hpp"

#include <torch/csrc/autograd/autograd.h>

namespace gangway::gan {

void call_libraries_once(at::Device device) {
  const at::AutoGradMode with_graph(true);
  const auto ones = [&](at::IntArrayRef sizes) {
    return at::ones(sizes, at::device(device).dtype(at::kFloat)).requires_grad_();
  };
  const at::Tensor pictures = ones({2, 4, 8, 8});
  const at::Tensor weight = ones({8, 4, 4, 4});
  const at::Tensor matrix = ones({4 * 8 * 8, 3});
  const at::Tensor maps = at::conv2d(pictures, weight, {}, /*stride=*/2, /*padding=*/1);
  const at::Tensor made = at::conv_transpose2d(maps, weight, {}, /*stride=*/2, /*padding=*/1);
  const at::Tensor loss = made.flatten(1).mm(matrix).square().mean();
  const torch::autograd::variable_list inputs{pictures, weight, matrix};
  const torch::autograd::variable_list first =
      torch::autograd::grad({loss}, inputs, {}, /*retain_graph=*/true, /*create_graph=*/true);
  (void)torch::autograd::grad({first.front().square().sum()}, inputs, {}, /*retain_graph=*/{},
                              /*create_graph=*/false, /*allow_unused=*/true);
}

}  // namespace gangway::gan
