// SPDX-License-Identifier: MIT
#include "gan/penalty.hpp"

namespace gangway::gan {
namespace {

/// Norm floor of the gradient penalty's square root, whose derivative is infinite at 0.
constexpr double kNormFloor = 1e-12;

at::Tensor penalty_of(PenaltyKind kind, double weight, const at::Tensor& gradient) {
  const at::Tensor squared_norms = gradient.flatten(1).square().sum(1);
  if (kind == PenaltyKind::kR1) {
    return squared_norms.mean() * (weight / 2.0);
  }
  return ((squared_norms + kNormFloor).sqrt() - 1.0).square().mean() * weight;
}

/// d(sum of <outputs, cotangents>) / d inputs and parameters; what does not depend stays undefined.
torch::autograd::variable_list vector_jacobian(const std::vector<at::Tensor>& outputs,
                                               const std::vector<at::Tensor>& inputs,
                                               const std::vector<at::Tensor>& cotangents,
                                               bool create_graph) {
  return torch::autograd::grad(outputs, inputs, cotangents, /*retain_graph=*/true, create_graph,
                               /*allow_unused=*/true);
}

void accumulate(at::Tensor& target, const at::Tensor& addend) {
  if (!addend.defined()) {
    return;
  }
  target = target.defined() ? target + addend : addend;
}

/// Adds to `.grad` in place, as autograd's own accumulation does: the gradient lives in an arena.
void add_to_gradients(const std::vector<at::Tensor>& parameters,
                      const torch::autograd::variable_list& gradients, std::size_t first) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = gradients[first + i];
    if (!gradient.defined()) {
      continue;  // the last bias has no influence on a gradient penalty: exact zero, not an error
    }
    at::Tensor& target = parameters[i].mutable_grad();
    if (target.defined()) {
      target.add_(gradient);
    } else {
      target = gradient.clone();
    }
  }
}

}  // namespace

std::vector<at::Tensor> BlockwisePenalty::trained(std::size_t block) const {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : network_.block(block).parameters()) {
    tensors.push_back(parameter.tensor);
  }
  return tensors;
}

void BlockwisePenalty::forward(const NamedTensors& in, const ForwardContext& context) {
  cuts_.clear();
  NamedTensors current;
  for (const auto& [name, tensor] : in.entries()) {
    current = current.with(name, tensor.detach());
  }
  for (std::size_t i = 0; i < network_.num_blocks(); ++i) {
    // Only what the last block made, and at first the image, lies on the path from the image to the
    // logits.
    const std::string path = i == 0 ? "image" : network_.output();
    const at::Tensor input = current.at(path).detach().requires_grad_(true);
    // An identity in between, because blocks may activate in place and a leaf must not be written
    // to.
    const NamedTensors out =
        network_.forward_block(i, current.with(path, input.view_as(input)), context);
    const at::Tensor output = out.at(network_.output());
    cuts_.push_back({{input}, {output}, {}, {}, {at::Tensor()}});
    current = out.with(network_.output(), output.detach());
  }
  sweep_cotangents();
}

void BlockwisePenalty::sweep_cotangents() {
  std::vector<at::Tensor> cotangents{at::ones_like(cuts_.back().outputs.front())};
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    for (at::Tensor& cotangent : cotangents) {
      cotangent = cotangent.detach().requires_grad_(true);
    }
    cut.output_cotangents = cotangents;
    cut.input_cotangents =
        vector_jacobian(cut.outputs, cut.inputs, cut.output_cotangents, /*create_graph=*/true);
    cotangents = cut.input_cotangents;
  }
}

std::vector<at::Tensor> BlockwisePenalty::penalty_gradient(at::Tensor& value) const {
  const at::Tensor gradient = cuts_.front().input_cotangents.front().detach().requires_grad_(true);
  const at::Tensor penalty = penalty_of(kind_, weight_, gradient);
  value = penalty.detach();
  return vector_jacobian({penalty}, {gradient}, {at::ones_like(penalty)}, /*create_graph=*/false);
}

at::Tensor BlockwisePenalty::backward(const std::function<void(std::size_t)>& on_block) {
  at::Tensor value;
  sweep_second_order(penalty_gradient(value));
  sweep_adjoints(on_block);
  cuts_.clear();
  return value;
}

void BlockwisePenalty::sweep_second_order(std::vector<at::Tensor> incoming) {
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    Cut& cut = cuts_[i];
    const std::vector<at::Tensor> parameters = trained(i);
    std::vector<at::Tensor> wanted = cut.output_cotangents;
    wanted.insert(wanted.end(), cut.inputs.begin(), cut.inputs.end());
    wanted.insert(wanted.end(), parameters.begin(), parameters.end());
    const torch::autograd::variable_list gradients =
        vector_jacobian(cut.input_cotangents, wanted, incoming, false);
    add_to_gradients(parameters, gradients, 2);
    accumulate(cut.adjoints.front(), gradients[1]);
    incoming = {gradients[0]};
  }
}

void BlockwisePenalty::sweep_adjoints(const std::function<void(std::size_t)>& on_block) {
  at::Tensor adjoint;  // of the current block's output, from the blocks behind it
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    if (adjoint.defined()) {
      const std::vector<at::Tensor> parameters = trained(i);
      std::vector<at::Tensor> wanted = cut.inputs;
      wanted.insert(wanted.end(), parameters.begin(), parameters.end());
      const torch::autograd::variable_list gradients =
          vector_jacobian(cut.outputs, wanted, {adjoint}, false);
      add_to_gradients(parameters, gradients, 1);
      accumulate(cut.adjoints.front(), gradients[0]);
    }
    adjoint = cut.adjoints.front();
    if (on_block) {
      on_block(i);
    }
  }
}

}  // namespace gangway::gan
