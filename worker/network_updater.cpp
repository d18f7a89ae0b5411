// SPDX-License-Identifier: MIT
#include "worker/network_updater.hpp"

#include "gan/layer_block.hpp"

namespace gangway::worker {

void NetworkUpdater::update(comm::ElementRange range, std::span<const float> mean) {
  const comm::ElementRange parameters = comm::intersect(range, state_.layout().parameter_range());
  const comm::ElementRange statistics = comm::intersect(range, state_.layout().statistics_range());
  if (!parameters.empty()) {
    update_parameters(parameters, mean.first(parameters.size()));
  }
  if (!statistics.empty()) {
    update_statistics(statistics, mean.last(statistics.size()));
  }
  if (state_.average() != nullptr) {
    update_average(range);
  }
}

void NetworkUpdater::update_parameters(comm::ElementRange range, std::span<const float> mean) {
  gan::optimizer_step(plan_.settings, plan_.update,
                      {.weights = state_.weights().range(range),
                       .gradient = mean,
                       .first_moment = state_.first_moment().range(range),
                       .second_moment = state_.second_moment().range(range)});
}

void NetworkUpdater::update_statistics(comm::ElementRange range, std::span<const float> mean) {
  if (plan_.harvests == 0) {
    return;
  }
  const auto momentum = static_cast<float>(gan::kNormMomentum);
  const float share = 1.0F / static_cast<float>(plan_.harvests);
  const std::span<float> running = state_.weights().range(range);
  for (std::size_t i = 0; i < running.size(); ++i) {
    running[i] += momentum * (mean[i] * share - running[i]);
  }
}

void NetworkUpdater::update_average(comm::ElementRange range) {
  const auto gain = static_cast<float>(1.0 - plan_.average_decay);
  const std::span<float> average = state_.average()->range(range);
  const std::span<const float> weights = state_.weights().range(range);
  for (std::size_t i = 0; i < average.size(); ++i) {
    average[i] += gain * (weights[i] - average[i]);
  }
}

}  // namespace gangway::worker
