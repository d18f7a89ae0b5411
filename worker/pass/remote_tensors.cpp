// SPDX-License-Identifier: MIT
#include "worker/pass/remote_tensors.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/errors.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {
namespace {

using pipeline::Crossing;
using pipeline::Instruction;
using pipeline::Operation;

}  // namespace

RemoteTensors::Known& RemoteTensors::known_as(const std::vector<Instruction>& schedule,
                                              double growth) {
  const double from = std::floor(growth);
  const double to = std::ceil(growth);
  const auto found = std::ranges::find_if(known_, [&](const Known& one) {
    return one.from == from && one.to == to && one.schedule == schedule;
  });
  return found != known_.end()
             ? *found
             : known_.emplace_back(Known{.schedule = schedule, .from = from, .to = to});
}

void RemoteTensors::begin_step(std::int64_t step, const std::vector<Instruction>& schedule,
                               double growth) {
  step_ = step;
  carrier_->begin_step(known_as(schedule, growth).num_performed++);
  std::map<int, int> counts;  // by peer
  for (const Instruction& one : schedule) {
    if (one.is_receive()) {
      counts[one.peer] += static_cast<int>(crossing(one).outputs.size());
    }
  }
  for (const auto& [peer, count] : counts) {
    carrier_->expect(peer, count);
  }
}

const Crossing& RemoteTensors::crossing(const Instruction& at) const {
  const pipeline::PassShare& share = shares_.of(at.phase, at.pass, at.microbatch);
  const bool is_made_here =
      at.operation == Operation::kSend || at.operation == Operation::kReceiveGradient;
  const std::vector<Crossing>& crossings = is_made_here ? share.sends : share.receives;
  const auto found = std::ranges::find_if(
      crossings, [&](const Crossing& one) { return one.node == at.node && one.peer == at.peer; });
  if (found == crossings.end()) {
    throw InvariantError("a schedule sends a tensor that no worker takes; please report this");
  }
  return *found;
}

std::map<int, std::string> RemoteTensors::outputs(const Instruction& at) const {
  const pipeline::Phase& phase = shares_.phases()[static_cast<std::size_t>(at.phase)];
  const pipeline::Pass& pass = phase.passes[static_cast<std::size_t>(at.pass)];
  const std::vector<std::string> names =
      pipeline::outputs_of(pass.nodes[static_cast<std::size_t>(at.node)]);
  std::map<int, std::string> outputs;
  for (const int output : crossing(at).outputs) {
    outputs[output] = names[static_cast<std::size_t>(output)];
  }
  return outputs;
}

comm::TensorKey RemoteTensors::key(const Instruction& at, int output) const {
  return {.step = step_,
          .phase = at.phase,
          .repeat = at.repeat,
          .pass = at.pass,
          .microbatch = at.microbatch,
          .node = at.node,
          .output = output,
          .is_gradient = at.carries_gradient() ? 1 : 0};
}

void RemoteTensors::send(const Instruction& at, int output, const at::Tensor& tensor) {
  carrier_->send(at.peer, key(at, output), tensor.defined() ? tensor.detach() : tensor);
}

at::Tensor RemoteTensors::receive(const Instruction& at, int output) {
  const PartScope part = in_part(messages::StepPart::kTensors);
  const auto begin = std::chrono::steady_clock::now();
  at::Tensor tensor = carrier_->receive(at.peer, key(at, output));
  waits_[at.phase] +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return tensor;
}

}  // namespace gangway::worker
