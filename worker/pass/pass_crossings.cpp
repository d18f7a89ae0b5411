// SPDX-License-Identifier: MIT
// Tensors of a pass that cross to other workers, and the gradients that come back.
#include "worker/pass/pass_run.hpp"
#include "worker/pass/remote_tensors.hpp"

namespace gangway::worker {

void PassRun::send(const pipeline::Instruction& at) {
  enter(at);
  come_to(at.node + 1);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    setup_.remote->send(at, output, work_->value(name));
  }
  works_.leave(*work_);
}

void PassRun::receive(const pipeline::Instruction& at) {
  enter(at);
  come_to(at.node);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    put({name}, Kept{{setup_.remote->receive(at, output)}, {}});
  }
  ++work_->node;
  works_.leave(*work_);
}

void PassRun::send_gradient(const pipeline::Instruction& at, StepLosses& losses) {
  enter(at);
  come_back_to(setup_.remote->crossing(at).last_taker - 1, losses);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    at::Tensor& taken = work_->value(name);
    setup_.remote->send(at, output, taken.grad());
    taken.reset();
  }
  works_.leave(*work_);
}

void PassRun::receive_gradient(const pipeline::Instruction& at, StepLosses& losses) {
  enter(at);
  come_back_to(setup_.remote->crossing(at).last_taker, losses);
  for (const auto& [output, name] : setup_.remote->outputs(at)) {
    work_->add_gradient(name, setup_.remote->receive(at, output));
  }
  works_.leave(*work_);
}

}  // namespace gangway::worker
