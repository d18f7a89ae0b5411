// SPDX-License-Identifier: MIT
#include "gan/block_checkpoints.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "gan/precision.hpp"

namespace gangway::gan {
namespace {

/// Drops statistics, because a block's rerun sees the same values again.
class Unheard final : public StatisticSink {
 public:
  void take(const Statistic& /*statistic*/, const at::Tensor& /*value*/) override {}
};

/// Stores a tensor's incoming gradient with its own strides. A leaf would impose its strides, and
/// vectorised operators may then round differently.
struct Catch final : torch::autograd::Node {
  explicit Catch(std::shared_ptr<at::Tensor> to) : arrived(std::move(to)) {}
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    *arrived = std::move(gradients.front());
    return {};
  }
  std::shared_ptr<at::Tensor> arrived;
};

/// A shared_ptr in LibTorch 2.11, an intrusive_ptr in later versions.
using NodePointer = decltype(torch::autograd::Edge::function);

}  // namespace

BlockCheckpoints::BlockCheckpoints(Network& network, const NamedTensors& in,
                                   const ForwardContext& context, Trains trains)
    : network_(network),
      context_(context),
      is_seen_(context.sink != nullptr),
      trains_(trains == Trains::kYes) {
  context_.sink = nullptr;
  std::set<std::string> moving;
  for (const auto& [name, tensor] : in.entries()) {
    if (tensor.requires_grad()) {
      moving.insert(name);
    }
  }
  // Builds the graph of one block at a time because some operators depend on having a graph.
  const at::AutoGradMode with_graph(true);
  last_ = in.detached();
  for (std::size_t i = 0; i < network_.num_blocks(); ++i) {
    taken_.push_back(last_);
    moving_.push_back(moving);
    last_ = run(i, context).out.detached();
    const Block& block = network_.block(i);
    const bool is_moved = (trains_ && !network_.block(i).parameters().empty()) ||
                          std::ranges::any_of(block.ports().inputs, [&](const std::string& name) {
                            return moving.contains(name);
                          });
    for (const std::string& name : block.ports().outputs) {
      moving.erase(name);
      if (is_moved) {
        moving.insert(name);
      }
    }
  }
  for (const std::string& level : network_.levels()) {
    made_.push_back(widened(last_.at(level)));
  }
}

void BlockCheckpoints::Run::pull_inputs(const std::vector<at::Tensor>& outputs,
                                        const std::vector<at::Tensor>& gradients) const {
  std::vector<at::Tensor> taken;
  for (const auto& [name, one] : ends) {
    taken.push_back(one.taken);
  }
  torch::autograd::variable_list pulled = torch::autograd::grad(
      outputs, taken, gradients, /*retain_graph=*/false, /*create_graph=*/false,
      /*allow_unused=*/true);
  for (std::size_t i = 0; const auto& [name, one] : ends) {
    *one.caught = std::move(pulled[i++]);
  }
}

BlockCheckpoints::Run BlockCheckpoints::run(std::size_t block,
                                            const ForwardContext& context) const {
  Run run;
  NamedTensors in = taken_[block];
  for (const std::string& name : network_.block(block).ports().inputs) {
    if (moving_[block].contains(name) && in.has(name) && in.at(name).is_floating_point()) {
      Run::End& end = run.ends[name];
      end = {.taken = in.at(name).detach(), .caught = std::make_shared<at::Tensor>()};
      torch::autograd::create_gradient_edge(end.taken,
                                            NodePointer(std::make_unique<Catch>(end.caught)));
      in = in.with(name, end.taken);
    }
  }
  run.out = network_.forward_block(block, in, context);
  return run;
}

void BlockCheckpoints::pull(std::size_t block, const ForwardContext& context,
                            ByName& flowing) const {
  ByName arrived;
  for (const std::string& name : network_.block(block).ports().outputs) {
    if (auto found = flowing.extract(name); !found.empty()) {
      arrived.insert(std::move(found));
    }
  }
  if (arrived.empty()) {
    return;
  }
  Run again = run(block, context);
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, gradient] : arrived) {
    if (again.out.has(name) && again.out.at(name).requires_grad()) {
      outputs.push_back(again.out.at(name));
      gradients.push_back(gradient);
    }
  }
  again.out = {};
  if (outputs.empty()) {
    return;
  }
  // Later blocks' gradients come first in the sum, as in one graph of all blocks: this block may
  // take a tensor more than once.
  for (const auto& [name, end] : again.ends) {
    if (const auto found = flowing.find(name); found != flowing.end()) {
      outputs.push_back(end.taken);
      gradients.push_back(found->second);
    }
  }
  if (trains_) {
    torch::autograd::backward(outputs, gradients);
  } else if (!again.ends.empty()) {
    again.pull_inputs(outputs, gradients);
  }
  for (const auto& [name, end] : again.ends) {
    if (end.caught->defined()) {
      flowing[name] = *end.caught;
    }
  }
}

BlockCheckpoints::ByName BlockCheckpoints::backward(const std::vector<at::Tensor>& gradients) && {
  ByName flowing;  // gradients of later blocks' inputs
  for (std::size_t level = 0; level < gradients.size(); ++level) {
    if (gradients[level].defined()) {
      const std::string& name = network_.levels()[level];
      flowing[name] = gradients[level].to(last_.at(name).scalar_type());
    }
  }
  made_.clear();
  last_ = {};
  Unheard unheard;
  ForwardContext context = context_;
  context.sink = is_seen_ ? &unheard : nullptr;
  const at::AutoGradMode with_graph(true);
  for (std::size_t i = network_.num_blocks(); i-- > 0;) {
    pull(i, context, flowing);
    taken_.pop_back();
  }
  return flowing;
}

}  // namespace gangway::gan
