// SPDX-License-Identifier: MIT
#include "gan/losses/orthogonal.hpp"

#include <vector>

namespace gangway::gan {
namespace {

/// Returns ((W W^T) * (1 - I)) W, by the smaller of two intermediate products. If rows can be
/// orthogonal, it avoids a difference of nearly equal values.
at::Tensor overlaps(const at::Tensor& weight) {
  const at::Tensor rows = weight.flatten(1);
  if (rows.size(0) <= rows.size(1)) {
    at::Tensor products = rows.mm(rows.t());
    return products.fill_diagonal_(0.0).mm(rows).reshape(weight.sizes());
  }
  const at::Tensor lengths = rows.square().sum(1, /*keepdim=*/true);
  return (rows.mm(rows.t().mm(rows)) - rows * lengths).reshape(weight.sizes());
}

}  // namespace

void add_orthogonal_gradient(Network& network, double weight,
                             const std::function<bool(std::size_t)>& is_held) {
  const at::NoGradGuard no_grad;
  const std::vector<Network::NamedParameter> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Network::NamedParameter& named = parameters[i];
    if (!is_map(*named.parameter) || (is_held && !is_held(i))) {
      continue;
    }
    const at::Tensor gradient = overlaps(named.parameter->tensor) * (4.0 * weight);
    at::Tensor& target = named.parameter->tensor.mutable_grad();
    if (target.defined()) {
      target.add_(gradient);  // in place: the gradient lives in an arena
    } else {
      target = gradient;
    }
  }
}

}  // namespace gangway::gan
