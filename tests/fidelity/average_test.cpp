// SPDX-License-Identifier: MIT
// The average of the weights moves once a step, after the step's last update, in every recipe.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

constexpr double kStepsOfHalfLife = 2.0;

class AverageOfAStep : public BesideOneWorker {
 protected:
  /// Trains `job` step by step. Expects of each averaged network that its average has moved by half
  /// of a two-step change.
  void expect_one_average_a_step(JobSpec job, std::int64_t steps) {
    for (NetworkSpec& network : job.networks) {
      if (network.is_averaged()) {
        network.ema_kimg = kStepsOfHalfLife * static_cast<double>(job.images_per_step()) / 1000.0;
        network.ema_rampup.kind = RampUp::Kind::kNone;
      }
    }
    Outcome before = run(job, 1, 1);
    for (std::int64_t step = 1; step < steps; ++step) {
      const Outcome after = resumed(job, 1, step, step + 1, before);
      for (const NetworkSpec& network : job.networks) {
        if (network.is_averaged()) {
          expect_moved(network.name, tensors_of(before.checkpoint), tensors_of(after.checkpoint));
        }
      }
      before = after;
    }
  }

 private:
  using State = std::map<std::string, at::Tensor>;
  static void expect_moved(const std::string& network, const State& before, const State& after) {
    const double gain = 1.0 - std::exp2(-1.0 / kStepsOfHalfLife);
    for (const auto& [name, average] : before) {
      if (!name.starts_with(network + "_ema/")) {
        continue;
      }
      const at::Tensor& weights = after.at(network + name.substr(name.find('/')));
      const at::Tensor expected = average + (weights - average) * gain;
      const double scale = expected.abs().max().item<double>() + 1e-12;
      EXPECT_LE((after.at(name) - expected).abs().max().item<double>(), 1e-6 * scale) << name;
      EXPECT_FALSE(at::equal(after.at(network + name.substr(name.find('/'))),
                             before.at(network + name.substr(name.find('/')))) &&
                   name.ends_with("weight"))
          << name << " is not trained";
    }
  }
};

TEST_F(AverageOfAStep, IsOneBesideLazyPathLengths) {
  for (const NamedJob& named : job_breadth(images())) {
    if (named.job.training.path_length.is_lazy()) {
      SCOPED_TRACE(named.name);
      expect_one_average_a_step(named.job, 3);  // with, without and with the regulariser
      return;
    }
  }
  FAIL() << "no job has lazy path lengths";
}

/// No other recipe updates an averaged network twice in a step.
TEST_F(AverageOfAStep, ConcernsNoOtherRecipe) {
  for (const NamedJob& named : job_breadth(images())) {
    std::map<NetworkId, int> updates;
    for (const pipeline::Phase& phase : gan::phases_of(named.job)) {
      for (const NetworkId network : phase.networks) {
        updates[network] += phase.repeats;
      }
    }
    for (const auto& [network, count] : updates) {
      if (named.job.networks[network].is_averaged() && count > 1) {
        EXPECT_TRUE(named.job.training.path_length.is_lazy()) << named.name;
      }
    }
  }
}

}  // namespace
}  // namespace gangway::fidelity
