// SPDX-License-Identifier: MIT
#include "gan/losses/orthogonal.hpp"

namespace gangway::gan {
namespace {

bool is_map(const Parameter& parameter) {
  return parameter.tensor.dim() >= 2 && parameter.name != "embedding";
}

/// ((W W^T) * (1 - I)) W.
at::Tensor overlaps(const at::Tensor& weight) {
  const at::Tensor rows = weight.flatten(1);
  // Whichever product in between is smaller.
  const at::Tensor all =
      rows.size(0) <= rows.size(1) ? rows.mm(rows.t()).mm(rows) : rows.mm(rows.t().mm(rows));
  return (all - rows * rows.square().sum(1, /*keepdim=*/true)).reshape(weight.sizes());
}

}  // namespace

void add_orthogonal_gradient(Network& network, double weight) {
  const at::NoGradGuard no_grad;
  for (const Network::NamedParameter& named : network.parameters()) {
    if (!is_map(*named.parameter)) {
      continue;
    }
    const at::Tensor gradient = overlaps(named.parameter->tensor) * (4.0 * weight);
    at::Tensor& target = named.parameter->tensor.mutable_grad();
    if (target.defined()) {
      target.add_(gradient);  // in place: it lives in an arena
    } else {
      target = gradient;
    }
  }
}

}  // namespace gangway::gan
