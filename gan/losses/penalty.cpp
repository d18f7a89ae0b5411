// SPDX-License-Identifier: MIT
#include "gan/losses/penalty.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {
namespace {

/// Norm floor of the gradient penalty's square root, whose derivative is infinite at 0.
constexpr double kNormFloor = 1e-12;

/// [N] of g [N, styles, features]; its root has the same floor.
at::Tensor path_lengths(const at::Tensor& gradient) {
  return (gradient.square().sum(2).mean(1) + kNormFloor).sqrt();
}

/// The statistic that keeps path lengths, of the block that makes styles.
Statistic& path_length_of(Network& network) {
  for (const Network::NamedStatistic& named : network.statistics()) {
    if (named.statistic->name == kPathLength) {
      return *named.statistic;
    }
  }
  throw InvariantError("network " + network.name() + " makes no styles, so it has no path lengths");
}

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
  if (name == "path_length") {
    return PenaltyKind::kPathLength;
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
  const bool is_inside = kind_ == PenaltyKind::kPathLength;
  if (is_inside) {
    (void)path_length_of(network_);
  }
  looked_at_ = is_inside ? kStyles : in.entries().front().first;
  ForwardContext unseen = context;  // a penalty's forward is one too many for batch statistics
  unseen.sink = nullptr;
  unseen.precision = Precision::kFp32;  // rounded gradients have no derivatives to speak of
  unseen.derivatives = Derivatives::kAll;
  std::set<std::string> moving;  // depend on it
  std::set<std::string> still;   // depend on weights alone
  if (!is_inside) {
    moving.insert(looked_at_);
  }
  NamedTensors current = detached(in);
  for (std::size_t i = 0; i < network_.num_blocks(); ++i) {
    const BlockPorts& ports = network_.block(i).ports();
    Cut& cut = cuts_.emplace_back();
    add_leaves(ports.inputs, moving, current, cut.input_names, cut.inputs);
    cut.num_moving = cut.inputs.size();
    add_leaves(ports.inputs, still, current, cut.input_names, cut.inputs);
    const NamedTensors out = network_.forward_block(i, current, unseen);
    for (const std::string& name : ports.outputs) {
      moving.erase(name);
      still.erase(name);
      if (out.has(name) && out.at(name).requires_grad()) {
        const bool begins = is_inside && name == looked_at_;
        (cut.num_moving > 0 || begins ? moving : still).insert(name);
        cut.output_names.push_back(name);
        cut.outputs.push_back(out.at(name));
      }
    }
    current = detached(out);
  }
  sweep_cotangents(last_cotangent(context.key));
  if (is_inside) {
    measure(context.sink);
  }
}

at::Tensor BlockwisePenalty::last_cotangent(const RandomKey& key) const {
  const at::Tensor& output = cuts_.back().outputs.front();
  if (kind_ != PenaltyKind::kPathLength) {
    return at::ones_like(output);
  }
  RandomKey of_noise = key;
  of_noise.draw = static_cast<std::int32_t>(RandomDraw::kPathNoise);
  const auto pixels = static_cast<double>(output.size(2) * output.size(3));
  return (keyed_normal(of_noise, output.sizes(), output.device()) / std::sqrt(pixels))
      .to(output.scalar_type());
}

void BlockwisePenalty::measure(StatisticSink* sink) {
  const at::NoGradGuard no_grad;
  const Statistic& statistic = path_length_of(network_);
  mean_path_length_ = statistic.running.to(gradient_.scalar_type(), /*non_blocking=*/false,
                                           /*copy=*/true);
  path_length_momentum_ = statistic.momentum;
  if (sink != nullptr) {
    sink->take(statistic,
               path_lengths(gradient_).mean().reshape({1}).to(statistic.running.scalar_type()));
  }
}

void BlockwisePenalty::sweep_cotangents(const at::Tensor& last) {
  ByName cotangents;  // of what the blocks behind take
  cotangents[network_.output()] = last;
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

at::Tensor BlockwisePenalty::backward(const std::function<void(std::size_t)>& on_block,
                                      double loss_scale) {
  const at::Tensor gradient = gradient_.detach().requires_grad_(true);
  const at::Tensor penalty = kind_ == PenaltyKind::kPathLength
                                 ? path_length_penalty(gradient)
                                 : penalty_of(kind_, weight_, gradient);
  const torch::autograd::variable_list incoming =
      vector_jacobian({penalty}, {gradient}, {at::full_like(penalty, loss_scale)},
                      /*create_graph=*/false);
  sweep_second_order(incoming.front());
  sweep_adjoints(on_block);
  cuts_.clear();
  gradient_.reset();
  return penalty.detach();
}

at::Tensor BlockwisePenalty::path_length_penalty(const at::Tensor& gradient) const {
  const at::Tensor lengths = path_lengths(gradient);
  const at::Tensor mean =
      mean_path_length_ + (lengths.mean() - mean_path_length_) * path_length_momentum_;
  return (lengths - mean).square().mean() * weight_;
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
      if (cut.input_cotangents[k].defined() && cut.input_cotangents[k].requires_grad() &&
          weight.defined()) {
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
