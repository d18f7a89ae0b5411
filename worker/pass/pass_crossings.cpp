// SPDX-License-Identifier: MIT
// Sends and receives a pass's tensors, and their gradients, between workers.
#include <algorithm>
#include <utility>

#include "worker/pass/pass_run.hpp"
#include "worker/pass/remote_tensors.hpp"

namespace gangway::worker {

void PassRun::send(const pipeline::Instruction& at) {
  enter(at);
  run_nodes_to(at.node + 1);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    setup_.remote->send(at, output, work_->value(name));
  }
  works_.leave(*work_);
}

void PassRun::receive(const pipeline::Instruction& at) {
  enter(at);
  run_nodes_to(at.node);
  Kept received;
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    received.made.push_back(setup_.remote->receive(at, output));
  }
  const bool was_kept = is_recalled() && has_kept();
  if (was_kept) {  // its users' graphs start from the kept tensor
    received = take_kept();
  }
  const bool is_kept = is_taken_and_kept();
  std::size_t place = 0;
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    at::Tensor& tensor = received.made[place++];
    if (was_kept || is_kept) {
      if (tensor.defined()) {
        tensor.requires_grad_(tensor.is_floating_point());
      }
      work_->values.push_back({name, tensor});
    } else {
      put({name}, Kept{{tensor}, {}});
    }
  }
  if (is_kept) {
    kept_[key_of(at)][at.node] = std::move(received);
  }
  ++work_->node;
  works_.leave(*work_);
}

bool PassRun::is_taken_and_kept() const {
  const std::vector<std::string> made = pipeline::outputs_of(node());
  for (int taker = work_->node + 1; taker < work_->num_kept; ++taker) {
    const auto at = static_cast<std::size_t>(taker);
    const std::vector<std::string> taken = pipeline::inputs_of(pass().nodes[at]);
    if (work_->share->mine[at] && std::holds_alternative<pipeline::Application>(pass().nodes[at]) &&
        std::ranges::find_first_of(taken, made) != taken.end()) {
      return true;
    }
  }
  return false;
}

void PassRun::send_gradient(const pipeline::Instruction& at, StepLosses& losses) {
  enter(at);
  backward_nodes_to(setup_.remote->crossing(at).last_consumer - 1, losses);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    at::Tensor& taken = work_->value(name);
    setup_.remote->send(at, output, taken.defined() ? taken.grad() : taken);
    taken.reset();
  }
  works_.leave(*work_);
}

void PassRun::receive_gradient(const pipeline::Instruction& at, StepLosses& losses) {
  enter(at);
  backward_nodes_to(setup_.remote->crossing(at).last_consumer, losses);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    work_->add_gradient(name, setup_.remote->receive(at, output));
  }
  works_.leave(*work_);
}

}  // namespace gangway::worker
