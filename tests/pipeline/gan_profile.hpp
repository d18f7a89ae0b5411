// SPDX-License-Identifier: MIT
// A GAN whose costs are a published breakdown of a step, on layouts of so many workers: those of
// the notes' reference simulator, whose figures tests compare with.
#pragma once

#include <algorithm>
#include <string>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/layout/placements.hpp"
#include "pipeline/simulator/simulator.hpp"
#include "pipeline/staged/lowering.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {

/// Seconds of one pass of a whole batch.
struct GanProfile {
  double generator_forward = 15.0;
  double generator_backward = 22.0;
  double discriminator_forward = 18.0;
  double discriminator_backward = 16.0;
  double update = 0.5;
  double hop = 0.02;  ///< latency of a message, of the mean chunk's forward
};

/// One chunk a worker for each block.
inline Layout gan_layout(const std::string& place, int workers, int microbatches,
                         const GanProfile& profile = {}) {
  if (place == "apart") {
    const auto dearest = [&](int first) {
      const double generator = 2 * profile.generator_forward + profile.generator_backward;
      const double discriminator =
          3 * profile.discriminator_forward + 2.5 * profile.discriminator_backward;
      return std::max(generator / first, discriminator / (workers - first));
    };
    int best = 1;
    for (int first = 1; first < workers; ++first) {
      best = dearest(first) < dearest(best) ? first : best;
    }
    return placed_apart({best, workers - best}, microbatches, {best, workers - best});
  }
  if (place == "two chunks") {
    return placed(Placement::kTwoChunks, workers, microbatches, {2 * workers, 2 * workers});
  }
  return placed(place == "V" ? Placement::kV : Placement::kLoop, workers, microbatches,
                {workers, workers});
}

inline Costs gan_costs(const Layout& layout, const GanProfile& profile = {}) {
  Costs costs;
  const int microbatches = layout.num_microbatches;
  for (const NetworkId network : layout.networks.ids()) {
    const bool generates = network == kGenerator;
    const int chunks = layout.networks[network].num_chunks();
    const double forward = generates ? profile.generator_forward : profile.discriminator_forward;
    const double backward =
        (generates ? profile.generator_backward : profile.discriminator_backward) / chunks /
        microbatches;
    costs.chunks.add(std::vector<WorkCosts>(static_cast<std::size_t>(chunks),
                                            {.forward_seconds = forward / chunks / microbatches,
                                             .input_gradient_seconds = backward * 0.5,
                                             .weight_gradient_seconds = backward * 0.5,
                                             .update_seconds = profile.update / chunks}));
  }
  costs.links.within.latency_seconds = profile.hop *
                                       (profile.generator_forward + profile.discriminator_forward) /
                                       2 / layout.num_workers / microbatches * 2;
  return costs;
}

struct GanCase {
  std::string place = "loop";
  int workers = 4;
  int microbatches = 8;
  int critic_steps = 1;
  bool reuses_fakes = false;
};

inline JobSpec gan_job(const GanCase& test) {
  JobSpec job;
  job.network("discriminator").steps = test.critic_steps;
  job.training.reuse_fakes = test.reuses_fakes;
  return job;
}

inline Simulation simulated(const GanCase& test, const ScheduleOptions& options,
                            const GanProfile& profile = {}, int steps = 8) {
  const Layout layout = gan_layout(test.place, test.workers, test.microbatches, profile);
  const Costs costs = gan_costs(layout, profile);
  return simulate(
      stage_schedule(gan::adversarial_phases(gan_job(test)), layout, 0, steps, costs, options),
      costs);
}

inline int peak_stored(const Simulation& simulation) {
  return std::ranges::max(simulation.workers, {}, &SimulatedWorker::peak_stored).peak_stored;
}

}  // namespace gangway::pipeline
