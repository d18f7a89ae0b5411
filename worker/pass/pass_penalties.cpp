// SPDX-License-Identifier: MIT
// Runs penalties of a pass: at once on a whole network; on a network that is cut, as nodes whose
// tensors have gradients.
#include <memory>
#include <utility>

#include "worker/pass/pass_run.hpp"

namespace gangway::worker {

using pipeline::Input;
using pipeline::Penalty;
using pipeline::PenaltyPart;

void PassRun::penalty_forward(const pipeline::Instruction& at) {
  enter(at);
  run_nodes_to(at.node);
  const auto& penalty = std::get<Penalty>(node());
  if (!penalty.part || penalty.part->goes_forward) {
    work_->penalty = std::make_unique<gan::BlockwisePenalty>(
        *setup_.networks[penalty.network], gan::penalty_named(penalty.function), penalty.weight,
        penalty.part ? std::optional(penalty.part->blocks) : std::nullopt);
    if (!(penalty.schedule == ScheduleSpec{})) {
      work_->penalty->scale_by(number_of(1.0, penalty.schedule));
    }
  }
  if (penalty.before_augment && (!penalty.part || penalty.part->is_measured)) {
    work_->penalty->look_through(work_->through.first, work_->through.second);
  }
  gan::StatisticSink* sink = penalty.harvests ? &sink_of(penalty.network, at.is_ahead) : nullptr;
  if (penalty.part) {
    put(pipeline::outputs_of(node()), Kept{carried_out(penalty, sink), {}});
  } else {
    work_->penalty->forward(work_->taken(penalty.inputs), context_of(penalty, sink));
  }
  ++work_->node;
  works_.leave(*work_);
}

gan::ForwardContext PassRun::context_of(const Penalty& penalty, gan::StatisticSink* sink) const {
  gan::ForwardContext result = context(penalty.network, sink, 0);
  result.precision = setup_.job.penalty_precision(penalty.network);
  return result;
}

std::vector<at::Tensor> PassRun::carried_out(const Penalty& penalty, gan::StatisticSink* sink) {
  const PenaltyPart& part = *penalty.part;
  const gan::ForwardContext seen = context_of(penalty, nullptr);
  gan::NamedTensors made;
  gan::BlockSweeps::ByName cotangents;
  if (part.goes_forward) {
    made = work_->penalty->sweeps().forward(work_->taken(penalty.inputs), seen);
  }
  if (part.goes_back) {
    if (part.goes_forward) {
      cotangents = work_->penalty->last_cotangents(made, seen.key);
    } else {
      for (const Input& input : penalty.inputs) {
        cotangents[input.name] = work_->value(input.tensor);
      }
    }
    cotangents = work_->penalty->sweeps().cotangents(std::move(cotangents));
  }
  std::vector<at::Tensor> tensors;
  for (const Input& one : part.makes) {
    if (part.goes_back) {
      tensors.push_back(cotangents[one.name]);
    } else {
      tensors.push_back(made.has(one.name) ? made.at(one.name) : at::Tensor());
    }
  }
  if (part.is_measured) {
    const at::Tensor value = work_->penalty->measure(cotangents, sink);
    if (!part.value.empty()) {
      tensors.push_back(value);
    }
  }
  return tensors;
}

void PassRun::penalty_backward(const pipeline::Instruction& at, StepLosses& losses,
                               const std::function<void(std::size_t)>& on_block) {
  enter(at);
  backward_nodes_to(at.node, losses);
  work_->node = at.node;
  const auto& penalty = std::get<Penalty>(node());
  if (penalty.part) {
    pull(penalty, on_block);
  } else {
    const at::Tensor value = work_->penalty->backward(on_block, loss_scale());
    if (penalty.shown_with) {
      losses.add(*penalty.shown_with, at.microbatch, value, phase().repeats);
    }
    work_->penalty.reset();
  }
  end_if_over();
}

void PassRun::pull(const Penalty& penalty, const std::function<void(std::size_t)>& on_block) {
  const PenaltyPart& part = *penalty.part;
  work_->made[static_cast<std::size_t>(work_->node)].clear();
  gan::BlockSweeps::ByName gradients;
  for (const Input& one : part.makes) {
    at::Tensor& made = work_->value(one.tensor);
    gradients[one.name] = made.defined() ? made.grad() : at::Tensor();
    made.reset();
  }
  if (part.is_measured) {
    gradients = work_->penalty->pulled(loss_scale());
  }
  if (part.goes_back) {
    gradients = work_->penalty->sweeps().second_order(
        std::move(gradients),
        part.goes_forward ? gan::BlockSweeps::Adds::kAtOnce : gan::BlockSweeps::Adds::kLater);
  }
  if (part.goes_forward) {  // nothing depends on the last chunk's outputs
    gradients = work_->penalty->sweeps().adjoints(
        part.goes_back ? gan::BlockSweeps::ByName() : std::move(gradients), on_block);
    work_->penalty.reset();
  }
  for (const Input& input : penalty.inputs) {
    const at::Tensor& taken = work_->value(input.tensor);
    if (taken.defined() && taken.requires_grad()) {
      work_->add_gradient(input.tensor, gradients[input.name]);
    }
  }
}

}  // namespace gangway::worker
