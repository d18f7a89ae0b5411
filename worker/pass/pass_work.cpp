// SPDX-License-Identifier: MIT
#include "worker/pass/pass_work.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::worker {

at::Tensor& PassWork::value(const std::string& name) {
  const auto found = std::ranges::find(values, name, &Value::name);
  if (found == values.end()) {
    throw InvariantError("pass " + pass->name + " takes " + name + " before it is made");
  }
  return found->tensor;
}

std::vector<at::Tensor> PassWork::values_of(const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : names) {
    tensors.push_back(value(name));
  }
  return tensors;
}

gan::NamedTensors PassWork::taken(const std::vector<pipeline::Input>& inputs) {
  gan::NamedTensors tensors;
  for (const pipeline::Input& input : inputs) {
    tensors = tensors.with(input.name, value(input.tensor));
  }
  return tensors;
}

void PassWork::add_gradient(const std::string& name, const at::Tensor& gradient) {
  if (!gradient.defined()) {
    return;
  }
  const at::NoGradGuard no_grad;
  at::Tensor& sum = value(name).mutable_grad();
  if (sum.defined()) {
    sum.add_(gradient);
  } else {
    sum = gradient;
  }
}

}  // namespace gangway::worker
