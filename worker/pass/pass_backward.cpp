// SPDX-License-Identifier: MIT
// Runs the backward of losses, joins and applications: from the gradients of their outputs to those
// of their inputs.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/precision.hpp"
#include "worker/figures/judged_logits.hpp"
#include "worker/figures/judged_spread.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {

using pipeline::Application;
using pipeline::Augment;
using pipeline::BackwardPart;
using pipeline::Instruction;
using pipeline::Join;
using pipeline::Loss;
using pipeline::Penalty;
using pipeline::Shown;

namespace {

/// Keeps the layout in which gradients of leaves arrive, because AccumulateGrad gives a gradient
/// the strides of its leaf. The whole network has no leaf between chunks, and some operators choose
/// a kernel with other rounding by strides: in bf16, all convolutions on processors without
/// AVX-512.
class ArrivedGradients {
 public:
  /// @param leaves  reached by one backward
  explicit ArrivedGradients(const std::vector<at::Tensor>& leaves) {
    for (const at::Tensor& leaf : leaves) {
      if (!leaf.grad().defined()) {  // a second gradient is added in place
        Leaf& one = leaves_.emplace_back(Leaf{.tensor = leaf});
        one.hook = leaf.register_hook(
            [arrived = one.arrived](const at::Tensor& gradient) { *arrived = gradient; });
      }
    }
  }
  ArrivedGradients(const ArrivedGradients&) = delete;
  ArrivedGradients& operator=(const ArrivedGradients&) = delete;
  ~ArrivedGradients() {
    for (const Leaf& leaf : leaves_) {
      leaf.tensor.remove_hook(leaf.hook);
    }
  }

  /// Restores the layouts; call after that backward.
  void keep() {
    for (Leaf& leaf : leaves_) {
      if (leaf.arrived->defined() && leaf.arrived->is_non_overlapping_and_dense()) {
        leaf.tensor.mutable_grad() = leaf.arrived->detach();
      }
    }
  }

 private:
  struct Leaf {
    at::Tensor tensor;
    std::shared_ptr<at::Tensor> arrived = std::make_shared<at::Tensor>();
    unsigned hook = 0;
  };
  std::vector<Leaf> leaves_;
};

/// Returns whether autograd objects to how a loss was made, rather than to the machine.
bool is_about_graph(const c10::Error& error) {
  constexpr std::array<std::string_view, 4> kFaults{"modified by an inplace operation",
                                                    "through the graph a second time",
                                                    "does not require grad", "is not implemented"};
  const std::string_view words = error.what_without_backtrace();
  return std::ranges::any_of(
      kFaults, [words](std::string_view fault) { return words.find(fault) != words.npos; });
}

}  // namespace

void PassRun::recompute(const Instruction& at, StepLosses& losses) {
  enter(at);
  backward_nodes_to(at.node, losses);  // releases the tensors in between
  if (work_->checkpoints.contains(at.node)) {
    return;  // its backward makes each block again
  }
  const int came_to = std::exchange(work_->node, at.node);
  const auto& application = std::get<Application>(node());
  // Its statistics were harvested in the first forward.
  work_->made[static_cast<std::size_t>(at.node)] =
      apply(application, pipeline::trains(phase(), application.network)).made;
  work_->node = came_to;
}

void PassRun::backward(const Instruction& at, StepLosses& losses) {
  enter(at);
  if (at.part != BackwardPart::kWeights) {
    backward_nodes_to(at.node, losses);
  }
  const int came_to = std::exchange(work_->node, at.node);
  auto checkpoints = work_->checkpoints.extract(at.node);
  if (checkpoints.empty() && at.part != BackwardPart::kWeights && is_recomputed() &&
      work_->made[static_cast<std::size_t>(at.node)].empty()) {
    throw InvariantError("a backward of pass " + pass().name + " comes without its recompute");
  }
  switch (at.part) {
    case BackwardPart::kWhole:
      if (checkpoints.empty()) {
        pull(pipeline::trains(phase(), std::get<Application>(node()).network));
      } else {
        pull(std::move(checkpoints.mapped()));
      }
      break;
    case BackwardPart::kInputs:
      pull_inputs();
      break;
    case BackwardPart::kWeights:
      pull_weights();
      break;
  }
  work_->node = std::min(came_to, at.node);
  if (at.part != BackwardPart::kInputs) {  // the weights' part is to come
    end_if_over();
  }
}

void PassRun::end_if_over() {
  if (work_->share != nullptr) {
    return works_.leave(*work_);
  }
  for (std::size_t before = 0; before < static_cast<std::size_t>(work_->node); ++before) {
    if (pass().has_gradient[before] || std::holds_alternative<Penalty>(pass().nodes[before])) {
      return;
    }
  }
  work_->values.clear();
}

void PassRun::backward_nodes_to(int end, StepLosses& losses) {
  if (!work_->has_turned) {
    work_->has_turned = true;
    run_nodes_to(static_cast<int>(pass().nodes.size()));
  }
  while (work_->node > end + 1) {
    --work_->node;
    if (!work_->is_mine()) {
      continue;
    }
    if (const auto* loss = std::get_if<Loss>(&node())) {
      pull(*loss, losses);
    } else if (std::holds_alternative<Join>(node()) || std::holds_alternative<Augment>(node())) {
      pull(/*trains=*/false);
    } else if (const auto* shown = std::get_if<Shown>(&node())) {
      losses.add(shown->shown_with, work_->at.microbatch, work_->value(shown->input),
                 phase().repeats);
    }
  }
}

void PassRun::pull(const Loss& loss, StepLosses& losses) {
  const at::Tensor made =
      std::exchange(work_->made[static_cast<std::size_t>(work_->node)], {}).front();
  if (has_gradient()) {
    torch::autograd::backward({made}, {at::full_like(made, loss_scale())});
  }
  for (const auto& [name, value] : std::exchange(work_->figures, {})) {
    losses.add_figure(name, work_->at.microbatch, value, phase().repeats);
  }
  if (loss.shown_with) {
    losses.add(*loss.shown_with, work_->at.microbatch, made, phase().repeats);
    for (JudgedLogits& judged : judged_by(pass(), loss, setup_.job)) {
      judged.microbatch = work_->at.microbatch;
      judged.logits = work_->value(judged.tensor).detach();
      if (work_->has(kAugmentStrength)) {
        losses.set_figure(work_->at.microbatch, judged.network + "_augment_strength",
                          gan::Augmentation::strength_of(work_->value(kAugmentStrength)).squeeze());
      }
      if (const std::string examples = judged_examples(pass(), judged, setup_.job);
          !examples.empty() && work_->has(examples)) {
        losses.add_figure(spread_figure(judged), work_->at.microbatch,
                          spread_of(work_->value(examples)), phase().repeats);
      }
      losses.add_logits(std::move(judged));
    }
  }
}

void PassRun::pull(bool trains) {
  if (!has_gradient()) {
    return;
  }
  const Pulled pulled = take_made();
  if (pulled.made.empty()) {
    return;
  }
  // If its weights are not trained, goes to the inputs only: the weights' gradients are neither
  // computed nor touched.
  const gan::Tf32Products products(precision());
  const auto* application = std::get_if<Application>(&node());
  try {
    ArrivedGradients arrived(taken_with_gradients(/*between_chunks=*/true));
    torch::autograd::backward(pulled.made, pulled.gradients, std::nullopt, /*create_graph=*/false,
                              trains ? trained_apart() : taken_with_gradients());
    arrived.keep();
  } catch (const c10::Error& error) {
    if (application == nullptr || application->method.empty() || !is_about_graph(error)) {
      throw;
    }
    const std::string words = error.what_without_backtrace();
    throw ConfigError(fmt::format("training.step: the loss of {} has no gradient: {}",
                                  application->method, words.substr(0, words.find('\n'))));
  }
}

void PassRun::pull(gan::BlockCheckpoints checkpoints) {
  std::vector<at::Tensor> gradients;
  bool has_some = false;
  for (const std::string& name : pipeline::outputs_of(node())) {
    at::Tensor& made = work_->value(name);
    gradients.push_back(made.defined() ? made.grad() : at::Tensor());
    has_some = has_some || gradients.back().defined();
    made.reset();
  }
  if (!has_some) {
    return;
  }
  const gan::Tf32Products products(precision());
  const std::map<std::string, at::Tensor> pulled = std::move(checkpoints).backward(gradients);
  for (const pipeline::Input& input : std::get<Application>(node()).inputs) {
    const auto found = pulled.find(input.name);
    const at::Tensor& taken = work_->value(input.tensor);
    if (found == pulled.end() || !taken.defined() || !taken.requires_grad()) {
      continue;
    }
    if (is_between_chunks(input.tensor)) {
      work_->add_gradient(input.tensor, found->second);
    } else {
      torch::autograd::backward({taken}, {found->second});  // adds to the leaf's gradient
    }
  }
}

void PassRun::pull_inputs() {
  Pulled pulled = take_made();
  if (!pulled.made.empty()) {
    const gan::Tf32Products products(precision());
    ArrivedGradients arrived(taken_with_gradients(/*between_chunks=*/true));
    work_->split.emplace(
        work_->node,
        SplitBackward(std::move(pulled.made), std::move(pulled.gradients), taken_with_gradients()));
    arrived.keep();
  }
}

void PassRun::pull_weights() {
  if (auto split = work_->split.extract(work_->node); !split.empty()) {
    const gan::Tf32Products products(precision());
    std::move(split.mapped()).finish();
  }
}

PassRun::Pulled PassRun::take_made() {
  const std::vector<at::Tensor> made =
      std::exchange(work_->made[static_cast<std::size_t>(work_->node)], {});
  const std::vector<std::string> names = pipeline::outputs_of(node());
  Pulled pulled;
  for (std::size_t i = 0; i < made.size(); ++i) {
    at::Tensor& taken = work_->value(names[i]);
    // A chunk without weights that follows draws has no graph to go back through.
    if (taken.defined() && taken.grad().defined() && made[i].requires_grad()) {
      pulled.made.push_back(made[i]);
      pulled.gradients.push_back(taken.grad());
    }
    taken.reset();
  }
  return pulled;
}

std::vector<at::Tensor> PassRun::trained_apart() {
  std::vector<at::Tensor> trained;
  const auto* application = std::get_if<Application>(&node());
  if (application == nullptr || application->method.empty()) {
    return trained;
  }
  for (const NetworkId network : phase().networks) {
    for (const auto& named : setup_.networks[network]->parameters()) {
      trained.push_back(named.parameter->tensor);
    }
  }
  return trained;
}

bool PassRun::is_between_chunks(const std::string& tensor) const {
  return std::ranges::any_of(pass().nodes, [&](const auto& node) {
    const auto* application = std::get_if<Application>(&node);
    return application != nullptr && application->part && !application->part->live.empty() &&
           std::ranges::find(application->levels, tensor) != application->levels.end();
  });
}

std::vector<at::Tensor> PassRun::taken_with_gradients(bool between_chunks) {
  std::vector<at::Tensor> taken;
  for (const std::string& input : pipeline::inputs_of(node())) {
    if (const at::Tensor& one = work_->value(input);
        one.defined() && one.requires_grad() && (!between_chunks || is_between_chunks(input))) {
      taken.push_back(one);
    }
  }
  return taken;
}

}  // namespace gangway::worker
