// SPDX-License-Identifier: MIT
#include "gan/losses/block_sweeps.hpp"

#include <algorithm>
#include <utility>

#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

/// Returns d(sum of <outputs, cotangents>) / d inputs and parameters; undefined if independent.
torch::autograd::variable_list pulled_back(const std::vector<at::Tensor>& outputs,
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

/// Makes leaves of the tensors of `names` that are in `chosen`, also in `current`.
void add_leaves(const std::vector<std::string>& names, const std::set<std::string>& chosen,
                NamedTensors& current, std::vector<std::string>& leaf_names,
                std::vector<at::Tensor>& leaves) {
  for (const std::string& name : names) {
    if (chosen.contains(name) && current.has(name)) {
      leaf_names.push_back(name);
      leaves.push_back(current.at(name).detach().requires_grad_(true));
      current = current.with(name, leaves.back());
    }
  }
}

/// Removes and returns the tensor `name`; undefined if there is none.
at::Tensor taken_out_of(std::map<std::string, at::Tensor>& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? at::Tensor() : std::move(tensors.extract(found).mapped());
}

/// Adds to `.grad` in place, as autograd does, because the gradient lives in an arena.
/// @param gradients  those of the parameters are last
void add_to_gradients(const std::vector<at::Tensor>& parameters,
                      const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  const std::size_t first = gradients.size() - parameters.size();
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> addends;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = gradients[first + i];
    if (!gradient.defined()) {
      continue;  // the last bias has no influence on a gradient penalty: exact zero, not an error
    }
    at::Tensor& target = parameters[i].mutable_grad();
    if (target.defined()) {
      sums.push_back(target);
      addends.push_back(gradient);
    } else {
      target = gradient.clone();
    }
  }
  if (!sums.empty()) {
    at::_foreach_add_(sums, addends);  // one kernel on a device
  }
}

}  // namespace

BlockSweeps::BlockSweeps(Network& network, BlockRange blocks, PenaltyTensor at)
    : network_(network), blocks_(blocks), at_(std::move(at)) {
  find_flow();
}

void BlockSweeps::find_flow() {
  if (!at_.is_inside) {
    moving_.insert(at_.name);
  }
  for (int i = 0; i < blocks_.begin; ++i) {
    Block& block = network_.block(static_cast<std::size_t>(i));
    const auto takes_of = [&](const std::set<std::string>& names) {
      return std::ranges::any_of(block.ports().inputs,
                                 [&](const std::string& name) { return names.contains(name); });
    };
    const bool takes_moving = takes_of(moving_);
    const bool has_gradient = takes_moving || takes_of(still_) || !block.parameters().empty();
    for (const std::string& name : block.ports().outputs) {
      moving_.erase(name);
      still_.erase(name);
      if (has_gradient) {
        (makes_moving(takes_moving, name) ? moving_ : still_).insert(name);
      }
    }
  }
}

std::vector<at::Tensor> BlockSweeps::trained(std::size_t block) const {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : network_.block(block).parameters()) {
    tensors.push_back(parameter.tensor);
  }
  return tensors;
}

NamedTensors BlockSweeps::forward(const NamedTensors& in, const ForwardContext& context) {
  cuts_.clear();
  precision_ = context.precision;
  ForwardContext unseen = context;  // a penalty's forward must not add statistics
  unseen.sink = nullptr;
  unseen.derivatives = Derivatives::kAll;
  std::set<std::string> moving = moving_;
  std::set<std::string> still = still_;
  NamedTensors current = in.detached();
  for (auto i = static_cast<std::size_t>(blocks_.begin); i < static_cast<std::size_t>(blocks_.end);
       ++i) {
    const BlockPorts& ports = network_.block(i).ports();
    Cut& cut = cuts_.emplace_back();
    cut.block = i;
    add_leaves(ports.inputs, moving, current, cut.input_names, cut.inputs);
    cut.num_moving = cut.inputs.size();
    add_leaves(ports.inputs, still, current, cut.input_names, cut.inputs);
    cut.adjoints.resize(cut.inputs.size());
    const NamedTensors out = network_.forward_block(i, current, unseen);
    for (const std::string& name : ports.outputs) {
      moving.erase(name);
      still.erase(name);
      if (out.has(name) && out.at(name).requires_grad()) {
        (makes_moving(cut.num_moving > 0, name) ? moving : still).insert(name);
        cut.output_names.push_back(name);
        cut.outputs.push_back(out.at(name));
      }
    }
    current = out.detached();
  }
  return current;
}

BlockSweeps::ByName BlockSweeps::cotangents(ByName of_outputs) {
  const Tf32Products products(precision_);
  ByName cotangents = std::move(of_outputs);  // of later blocks' inputs
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    if (cut.num_moving == 0) {
      continue;
    }
    for (std::size_t k = 0; k < cut.outputs.size(); ++k) {
      const at::Tensor cotangent = taken_out_of(cotangents, cut.output_names[k]);
      cut.output_cotangents.push_back(
          (cotangent.defined() ? cotangent : at::zeros_like(cut.outputs[k]))
              .detach()
              .requires_grad_(true));
    }
    const std::vector<at::Tensor> moving(
        cut.inputs.begin(), cut.inputs.begin() + static_cast<std::ptrdiff_t>(cut.num_moving));
    cut.input_cotangents =
        pulled_back(cut.outputs, moving, cut.output_cotangents, /*create_graph=*/true);
    for (std::size_t k = 0; k < cut.num_moving; ++k) {
      accumulate(cotangents[cut.input_names[k]], cut.input_cotangents[k].defined()
                                                     ? cut.input_cotangents[k].detach()
                                                     : at::Tensor());
    }
  }
  return cotangents;
}

BlockSweeps::ByName BlockSweeps::second_order(ByName incoming, Adds adds) {
  const Tf32Products products(precision_);
  ByName of_cotangents = std::move(incoming);  // dpenalty/dg of earlier blocks' outputs
  for (Cut& cut : cuts_) {
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> weights;
    for (std::size_t k = 0; k < cut.num_moving; ++k) {
      const at::Tensor weight = of_cotangents[cut.input_names[k]];
      if (cut.input_cotangents[k].defined() && cut.input_cotangents[k].requires_grad() &&
          weight.defined()) {
        from.push_back(cut.input_cotangents[k]);
        weights.push_back(weight);
      }
    }
    if (from.empty()) {
      continue;
    }
    const std::vector<at::Tensor> parameters = trained(cut.block);
    std::vector<at::Tensor> wanted = cut.output_cotangents;
    wanted.insert(wanted.end(), cut.inputs.begin(), cut.inputs.end());
    wanted.insert(wanted.end(), parameters.begin(), parameters.end());
    const torch::autograd::variable_list gradients =
        pulled_back(from, wanted, weights, /*create_graph=*/false);
    const std::size_t num_outputs = cut.outputs.size();
    if (adds == Adds::kAtOnce) {
      add_to_gradients(parameters, gradients);
    } else {
      cut.held.assign(gradients.end() - static_cast<std::ptrdiff_t>(parameters.size()),
                      gradients.end());
    }
    for (std::size_t k = 0; k < num_outputs; ++k) {
      of_cotangents[cut.output_names[k]] = gradients[k];
    }
    for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
      accumulate(cut.adjoints[k], gradients[num_outputs + k]);
    }
  }
  return of_cotangents;
}

BlockSweeps::ByName BlockSweeps::adjoints(ByName incoming,
                                          const std::function<void(std::size_t)>& on_block) {
  const Tf32Products products(precision_);
  ByName adjoints = std::move(incoming);  // dpenalty/dx of later blocks' inputs
  for (std::size_t i = cuts_.size(); i-- > 0;) {
    Cut& cut = cuts_[i];
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> weights;
    for (std::size_t k = 0; k < cut.outputs.size(); ++k) {
      if (const at::Tensor adjoint = taken_out_of(adjoints, cut.output_names[k]);
          adjoint.defined()) {
        from.push_back(cut.outputs[k]);
        weights.push_back(adjoint);
      }
    }
    const std::vector<at::Tensor> parameters = trained(cut.block);
    if (!cut.held.empty()) {
      add_to_gradients(parameters, cut.held);
    }
    if (!from.empty()) {
      std::vector<at::Tensor> wanted = cut.inputs;
      wanted.insert(wanted.end(), parameters.begin(), parameters.end());
      const torch::autograd::variable_list gradients =
          pulled_back(from, wanted, weights, /*create_graph=*/false);
      add_to_gradients(parameters, gradients);
      for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
        accumulate(cut.adjoints[k], gradients[k]);
      }
    }
    for (std::size_t k = 0; k < cut.inputs.size(); ++k) {
      accumulate(adjoints[cut.input_names[k]], cut.adjoints[k]);
    }
    if (on_block) {
      on_block(cut.block);
    }
  }
  cuts_.clear();
  return adjoints;
}

}  // namespace gangway::gan
