// SPDX-License-Identifier: MIT
#include "worker/step/step_losses.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace gangway::worker {

void StepLosses::add(NetworkId network, int microbatch, const at::Tensor& loss, int count) {
  entries_.push_back({network, microbatch, count});
  values_.push_back(loss.detach());
}

void StepLosses::close() {
  if (values_.empty()) {
    return;
  }
  const at::Tensor values = at::stack(values_).to(at::kDouble);
  on_host_ = values.to(at::kCPU, /*non_blocking=*/true);
  if (!values.is_cpu()) {
    copied_.emplace(values.device().type());
    copied_->record(c10::impl::VirtualGuardImpl(values.device().type()).getStream(values.device()));
  }
  values_.clear();
}

std::vector<messages::MicrobatchLoss> StepLosses::read() const {
  if (copied_) {
    copied_->synchronize();
  }
  std::vector<messages::MicrobatchLoss> losses;
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    losses.push_back({.microbatch = microbatch, .by_network = std::vector<double>(networks_)});
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    messages::MicrobatchLoss& loss =
        losses[static_cast<std::size_t>(entry.microbatch - local_.begin)];
    const double value = on_host_.const_data_ptr<double>()[i];
    loss.by_network.at(static_cast<std::size_t>(entry.network)) += value / entry.count;
  }
  return losses;
}

}  // namespace gangway::worker
