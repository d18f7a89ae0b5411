// SPDX-License-Identifier: MIT
// What networks make inside, made again for their backward (layout.recompute).
#include <utility>
#include <variant>

#include "worker/pass/pass_run.hpp"

namespace gangway::worker {

bool PassRun::is_made_again() const {
  return setup_.job.layout.recompute && std::holds_alternative<pipeline::Application>(node()) &&
         has_gradient() && !is_recalled() && work_->node >= work_->num_kept;
}

void PassRun::make_again() {
  std::vector<at::Tensor>& made = work_->made[static_cast<std::size_t>(work_->node)];
  if (made.empty() && is_made_again()) {
    const auto& application = std::get<pipeline::Application>(node());
    // What it sees of statistics was harvested the first time.
    made = apply(application, pipeline::trains(phase(), application.network)).made;
  }
}

void PassRun::prepare(const pipeline::Instruction& at) {
  if (!setup_.job.layout.recompute || at.part == pipeline::BackwardPart::kWeights) {
    return;  // or it was made for the first part
  }
  enter(at);
  const int node = std::exchange(work_->node, at.node);
  make_again();
  work_->node = node;
}

}  // namespace gangway::worker
