// SPDX-License-Identifier: MIT
#include "worker/step/network_updater.hpp"

#include "gan/optimizer.hpp"
#include "job/models/architecture.hpp"

namespace gangway::worker {
namespace {

void update_statistics(int harvests, std::span<const float> mean, std::span<float> running) {
  if (harvests == 0) {
    return;
  }
  const auto momentum = static_cast<float>(kStatisticMomentum);
  const float share = 1.0F / static_cast<float>(harvests);
  for (std::size_t i = 0; i < running.size(); ++i) {
    running[i] += momentum * (mean[i] * share - running[i]);
  }
}

void update_average(double decay, std::span<const float> weights, std::span<float> average) {
  const auto gain = static_cast<float>(1.0 - decay);
  for (std::size_t i = 0; i < average.size(); ++i) {
    average[i] += gain * (weights[i] - average[i]);
  }
}

}  // namespace

void update_slice(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                  const UpdateSlice& slice) {
  const std::size_t parameters =
      comm::intersect(slice.range, layout.parameter_range()).size();  // parameters come first
  const std::size_t statistics = slice.range.size() - parameters;
  if (parameters > 0) {
    gan::OptimizerSlice step{.weights = slice.weights.first(parameters),
                             .gradient = slice.mean.first(parameters)};
    for (std::size_t i = 0; i < num_moments(plan.settings.kind); ++i) {
      step.moments[i] = slice.moments[i].first(parameters);
    }
    gan::optimizer_step(plan.settings, plan.number(), step);
  }
  update_statistics(plan.harvests, slice.mean.last(statistics), slice.weights.last(statistics));
  update_average(plan.average_decay, slice.weights, slice.average);
}

void NetworkUpdater::carry_out(comm::ElementRange range, std::span<const float> mean,
                               bool was_skipped) {
  const UpdateSlice slice{
      .range = range,
      .mean = mean,
      .weights = state_.weights().range(range),
      .moments = state_.moments(range),
      .average = state_.average() != nullptr ? state_.average()->range(range) : std::span<float>{}};
  for (UpdateWatcher* watcher : watchers_) {
    watcher->before_update(slice);
  }
  if (!was_skipped) {
    update_slice(plan_, state_.layout(), slice);
  }
  UpdatePlan done = plan_;
  done.was_skipped = was_skipped;
  done.counts = comm::counts_after(plan_, was_skipped);
  for (UpdateWatcher* watcher : watchers_) {
    watcher->after_update(slice, done);
  }
}

}  // namespace gangway::worker
