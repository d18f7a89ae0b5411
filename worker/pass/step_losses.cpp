// SPDX-License-Identifier: MIT
#include "worker/pass/step_losses.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace gangway::worker {

void StepLosses::add(NetworkId network, int microbatch, const at::Tensor& loss, int count) {
  entries_.push_back({network, microbatch, count});
  values_.push_back(loss.detach());
}

void StepLosses::add_figure(const std::string& name, int microbatch, const at::Tensor& value,
                            int count) {
  entries_.push_back({{}, microbatch, count, name});
  values_.push_back(value.to(at::kFloat));
}

StepLosses StepLosses::again() const {
  StepLosses others(local_, networks_);
  others.entries_ = entries_;
  others.values_ = values_;
  others.logits_ = logits_;
  others.figures_ = figures_;
  return others;
}

void StepLosses::close() {
  if (values_.empty()) {  // no logits either
    return;
  }
  logits_.close();
  const at::Tensor values = at::stack(values_).to(at::kDouble);
  on_host_ = values.to(at::kCPU, /*non_blocking=*/true);
  if (!values.is_cpu()) {
    copied_.emplace(values.device().type());
    copied_->record(c10::impl::VirtualGuardImpl(values.device().type()).getStream(values.device()));
  }
  values_.clear();
}

void StepLosses::wait_for_copies() const {
  if (copied_) {
    copied_->synchronize();
  }
}

std::vector<messages::MicrobatchLoss> StepLosses::read() const {
  wait_for_copies();
  std::vector<messages::MicrobatchLoss> losses;
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    losses.push_back({.microbatch = microbatch,
                      .by_network = std::vector<double>(networks_),
                      .figures = logits_.figures_of(microbatch)});
  }
  std::map<std::pair<int, std::string>, double> figures = figures_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const double value = on_host_.const_data_ptr<double>()[i];
    if (entry.count == 0) {
      figures[{entry.microbatch, entry.figure}] = value;
      continue;
    }
    const double share = value / entry.count;
    if (!entry.figure.empty()) {
      figures[{entry.microbatch, entry.figure}] += share;
      continue;
    }
    messages::MicrobatchLoss& loss =
        losses[static_cast<std::size_t>(entry.microbatch - local_.begin)];
    loss.by_network.at(static_cast<std::size_t>(entry.network)) += share;
  }
  for (const auto& [place, value] : figures) {
    losses[static_cast<std::size_t>(place.first - local_.begin)].figures.push_back(
        {.name = place.second, .value = value});
  }
  return losses;
}

std::vector<messages::HistogramPart> StepLosses::read_histograms(std::int64_t step) const {
  wait_for_copies();
  return logits_.histograms(step);
}

}  // namespace gangway::worker
