// SPDX-License-Identifier: MIT
#include "gan/losses/penalty.hpp"

#include <set>
#include <utility>

#include "base/errors.hpp"

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

NamedTensors detached(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors.entries()) {
    result = result.with(name, tensor.detach());
  }
  return result;
}

/// Makes leaves of those of `names` that are among `chosen`, in `current` too.
void add_leaves(const std::vector<std::string>& names, const std::set<std::string>& chosen,
                NamedTensors& current, std::vector<std::string>& leaf_names,
                std::vector<at::Tensor>& leaves) {
  for (const std::string& name : names) {
    if (chosen.contains(name)) {
      leaf_names.push_back(name);
      leaves.push_back(current.at(name).detach().requires_grad_(true));
      current = current.with(name, leaves.back());
    }
  }
}

/// What is there under `name`, which then is not any more; undefined where nothing was.
at::Tensor take(std::map<std::string, at::Tensor>& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? at::Tensor() : std::move(tensors.extract(found).mapped());
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

PenaltyKind penalty_named(std::string_view name) {
  if (name == "r1") {
    return PenaltyKind::kR1;
  }
  if (name == "gradient_penalty") {
    return PenaltyKind::kGradientPenalty;
  }
  throw InvariantError("no penalty is named " + std::string(name));
}

std::vector<at::Tensor> BlockwisePenalty::trained(std::size_t block) const {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : network_.block(block).parameters()) {
    tensors.push_back(parameter.tensor);
  }
  return tensors;
}

void BlockwisePenalty::forward(const NamedTensors& in, const ForwardContext& context) {
  cuts_.clear();
  looked_at_ = in.entries().front().first;
  std::set<std::string> moving{looked_at_};  // depend on it
  std::set<std::string> still;               // depend on weights alone
  NamedTensors current = detached(in);
  for (std::size_t i = 0; i < network_.num_blocks(); ++i) {
    const BlockPorts& ports = network_.block(i).ports();
    Cut& cut = cuts_.emplace_back();
    add_leaves(ports.inputs, moving, current, cut.input_names, cut.inputs);
    cut.num_moving = cut.inputs.size();
    add_leaves(ports.inputs, still, current, cut.input_names, cut.inputs);
    const NamedTensors out = network_.forward_block(i, current, context);
    for (const std::string& name : ports.outputs) {
      moving.erase(name);
      still.erase(name);
      if (out.has(name) && out.at(name).requires_grad()) {
        (cut.num_moving > 0 ? moving : still).insert(name);
        cut.output_names.push_back(name);
        cut.outputs.push_back(out.at(name));
      }
    }
    current = detached(out);
  }
  sweep_cotangents();
}

void BlockwisePenalty::sweep_cotangents() {
  ByName cotangents;  // of what the blocks behind take
  cotangents[network_.output()] = at::ones_like(cuts_.back().outputs.front());
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    if (cut.num_moving == 0) {
      continue;
    }
    for (std::size_t k = 0; k < cut.outputs.size(); ++k) {
      const at::Tensor cotangent = take(cotangents, cut.output_names[k]);
      cut.output_cotangents.push_back(
          (cotangent.defined() ? cotangent : at::zeros_like(cut.outputs[k]))
              .detach()
              .requires_grad_(true));
    }
    const std::vector<at::Tensor> moving(
        cut.inputs.begin(), cut.inputs.begin() + static_cast<std::ptrdiff_t>(cut.num_moving));
    cut.input_cotangents =
        vector_jacobian(cut.outputs, moving, cut.output_cotangents, /*create_graph=*/true);
    for (std::size_t k = 0; k < cut.num_moving; ++k) {
      accumulate(cotangents[cut.input_names[k]], cut.input_cotangents[k].defined()
                                                     ? cut.input_cotangents[k].detach()
                                                     : at::Tensor());
    }
  }
  gradient_ = cotangents.at(looked_at_);
}

at::Tensor BlockwisePenalty::backward(const std::function<void(std::size_t)>& on_block) {
  const at::Tensor gradient = gradient_.detach().requires_grad_(true);
  const at::Tensor penalty = penalty_of(kind_, weight_, gradient);
  const torch::autograd::variable_list incoming =
      vector_jacobian({penalty}, {gradient}, {at::ones_like(penalty)}, /*create_graph=*/false);
  sweep_second_order(incoming.front());
  sweep_adjoints(on_block);
  cuts_.clear();
  gradient_.reset();
  return penalty.detach();
}

void BlockwisePenalty::sweep_second_order(const at::Tensor& incoming) {
  ByName of_cotangents;  // dpenalty/dg of what the blocks before have made
  of_cotangents[looked_at_] = incoming;
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    Cut& cut = cuts_[i];
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> weights;
    for (std::size_t k = 0; k < cut.num_moving; ++k) {
      const at::Tensor weight = of_cotangents[cut.input_names[k]];
      if (cut.input_cotangents[k].requires_grad() && weight.defined()) {
        from.push_back(cut.input_cotangents[k]);
        weights.push_back(weight);
      }
    }
    cut.adjoints.resize(cut.inputs.size());
    if (from.empty()) {
      continue;
    }
    const std::vector<at::Tensor> parameters = trained(i);
    std::vector<at::Tensor> wanted = cut.output_cotangents;
    wanted.insert(wanted.end(), cut.inputs.begin(), cut.inputs.end());
    wanted.insert(wanted.end(), parameters.begin(), parameters.end());
    const torch::autograd::variable_list gradients =
        vector_jacobian(from, wanted, weights, /*create_graph=*/false);
    const std::size_t num_outputs = cut.outputs.size();
    add_to_gradients(parameters, gradients, num_outputs + cut.inputs.size());
    for (std::size_t k = 0; k < num_outputs; ++k) {
      of_cotangents[cut.output_names[k]] = gradients[k];
    }
    for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
      accumulate(cut.adjoints[k], gradients[num_outputs + k]);
    }
  }
}

void BlockwisePenalty::sweep_adjoints(const std::function<void(std::size_t)>& on_block) {
  ByName adjoints;  // dpenalty/dx of what the blocks behind take
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> weights;
    for (std::size_t k = 0; k < cut.outputs.size(); ++k) {
      if (const at::Tensor adjoint = take(adjoints, cut.output_names[k]); adjoint.defined()) {
        from.push_back(cut.outputs[k]);
        weights.push_back(adjoint);
      }
    }
    if (!from.empty()) {
      const std::vector<at::Tensor> parameters = trained(i);
      std::vector<at::Tensor> wanted = cut.inputs;
      wanted.insert(wanted.end(), parameters.begin(), parameters.end());
      const torch::autograd::variable_list gradients =
          vector_jacobian(from, wanted, weights, /*create_graph=*/false);
      add_to_gradients(parameters, gradients, cut.inputs.size());
      for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
        accumulate(cut.adjoints[k], gradients[k]);
      }
    }
    for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
      accumulate(adjoints[cut.input_names[k]], cut.adjoints[k]);
    }
    if (on_block) {
      on_block(i);
    }
  }
}

}  // namespace gangway::gan
