// SPDX-License-Identifier: MIT
#include "worker/pass/split_backward.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace gangway::worker {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;

/// Stores the gradients that arrive at a function, the first time.
struct Note final : torch::autograd::FunctionPreHook {
  explicit Note(std::shared_ptr<std::vector<at::Tensor>> to) : arrived(std::move(to)) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& gradients) override {
    if (arrived->empty()) {
      *arrived = gradients;
    }
    return gradients;
  }
  std::shared_ptr<std::vector<at::Tensor>> arrived;
};

}  // namespace

/// The graph of functions behind some outputs.
class SplitBackward::Graph {
 public:
  Graph(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
    std::unordered_set<const c10::TensorImpl*> ends;
    for (const at::Tensor& input : inputs) {
      ends.insert(input.unsafeGetTensorImpl());
    }
    for (const at::Tensor& output : outputs) {  // an output may be an input, passed on
      visit(torch::autograd::impl::gradient_edge(output).function, ends);
    }
  }

  /// Returns the functions, starting at the outputs: each before the functions that feed it.
  [[nodiscard]] std::vector<NodePointer> functions() const {
    return {done_.rbegin(), done_.rend()};
  }
  [[nodiscard]] bool leads_to_inputs(const Node* function) const {
    return leads_to_inputs_.at(function);
  }
  /// Returns the leaves of `function`, reached by parts of the graph that lead to no input.
  [[nodiscard]] std::set<NodePointer> weights_on(const NodePointer& function) {
    std::set<NodePointer> found;
    std::unordered_set<const Node*> seen;
    std::vector<NodePointer> open{function};
    while (!open.empty()) {
      const NodePointer one = open.back();
      open.pop_back();
      if (dynamic_cast<const AccumulateGrad*>(one.get()) != nullptr) {
        found.insert(one);
      }
      for (const Edge& edge : one->next_edges()) {
        if (edge.is_valid() && !leads_to_inputs(edge.function.get()) &&
            seen.insert(edge.function.get()).second) {
          open.push_back(edge.function);
        }
      }
    }
    return found;
  }

 private:
  void visit(const NodePointer& root, const std::unordered_set<const c10::TensorImpl*>& ends) {
    struct Step {
      NodePointer function;
      std::size_t next = 0;
    };
    std::vector<Step> way{{root}};
    while (!way.empty()) {
      Step& step = way.back();
      const std::size_t count = step.function->num_outputs();
      if (step.next == 0 && leads_to_inputs_.contains(step.function.get())) {
        way.pop_back();  // reached from another output
        continue;
      }
      if (step.next < count) {
        const Edge& edge = step.function->next_edge(step.next++);
        if (edge.is_valid() && !leads_to_inputs_.contains(edge.function.get())) {
          way.push_back({edge.function});
        }
        continue;
      }
      const auto* leaf = dynamic_cast<const AccumulateGrad*>(step.function.get());
      bool leads = leaf != nullptr && ends.contains(leaf->variable.unsafeGetTensorImpl());
      for (const Edge& edge : step.function->next_edges()) {
        leads = leads || (edge.is_valid() && leads_to_inputs_.at(edge.function.get()));
      }
      if (leads_to_inputs_.emplace(step.function.get(), leads).second) {
        done_.push_back(step.function);
      }
      way.pop_back();
    }
  }

  std::unordered_map<const Node*, bool> leads_to_inputs_;
  std::vector<NodePointer> done_;  // each after the functions that feed it
};

SplitBackward::SplitBackward(std::vector<at::Tensor> outputs, std::vector<at::Tensor> gradients,
                             const std::vector<at::Tensor>& inputs) {
  if (inputs.empty()) {
    rerun_roots_.emplace(std::move(outputs), std::move(gradients));
    return;
  }
  Graph graph(outputs, inputs);
  std::map<NodePointer, int> junctions_of;  // by weight
  std::vector<NodePointer> passed;          // on the way, without weights
  for (const NodePointer& function : graph.functions()) {
    const bool is_root = std::ranges::any_of(
        outputs, [&](const at::Tensor& output) { return output.grad_fn() == function; });
    const bool leads_on = graph.leads_to_inputs(function.get());
    if ((!leads_on && !is_root) || (leads_on && function->num_outputs() == 0)) {
      continue;  // leads to weights alone, or is an input
    }
    const std::set<NodePointer> weights = graph.weights_on(function);
    if (weights.empty()) {
      passed.push_back(function);
      continue;
    }
    SplitPoint& split_point = split_points_.emplace_back(
        SplitPoint{.function = function, .arrived = std::make_shared<Arrived>()});
    for (const NodePointer& leaf : weights) {
      split_point.weights.emplace_back(leaf, 0);
      ++junctions_of[leaf];
    }
    if (leads_on) {
      function->add_pre_hook(std::make_unique<Note>(split_point.arrived));
      continue;
    }
    split_point.arrived->resize(function->num_inputs());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].grad_fn() == function) {
        (*split_point.arrived)[outputs[i].output_nr()] = gradients[i];
      }
    }
  }
  torch::autograd::backward(outputs, gradients, /*retain_graph=*/true, /*create_graph=*/false,
                            inputs);
  if (std::ranges::any_of(junctions_of, [](const auto& one) { return one.second > 1; })) {
    for (const auto& [leaf, count] : junctions_of) {
      weights_.push_back(dynamic_cast<const AccumulateGrad&>(*leaf).variable);
    }
    split_points_.clear();
    rerun_roots_.emplace(std::move(outputs), std::move(gradients));
    return;
  }
  for (const NodePointer& function : passed) {
    function->release_variables();  // needed by the first part only
  }
}

void SplitBackward::finish() && {
  if (rerun_roots_) {
    torch::autograd::backward(rerun_roots_->first, rerun_roots_->second,
                              /*retain_graph=*/std::nullopt,
                              /*create_graph=*/false, weights_);
    return;
  }
  for (const SplitPoint& split_point : split_points_) {
    torch::autograd::edge_list from;
    torch::autograd::variable_list gradients;
    for (std::size_t i = 0; i < split_point.arrived->size(); ++i) {
      if (const at::Tensor& gradient = (*split_point.arrived)[i]; gradient.defined()) {
        from.emplace_back(split_point.function, static_cast<std::uint32_t>(i));
        gradients.push_back(gradient);
      }
    }
    if (!from.empty()) {
      (void)torch::autograd::Engine::get_default_engine().execute(
          from, gradients, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true,
          split_point.weights);
    }
  }
  split_points_.clear();
}

}  // namespace gangway::worker
