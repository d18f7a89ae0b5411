// SPDX-License-Identifier: MIT
// Exported weights can begin a training: of every family and network, including statistics other
// than BatchNorm's.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/weights_file.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "worker/state/load_from_checkpoint.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::fidelity {
namespace {

using checkpoint::WeightsKind;

class Exports : public BesideOneWorker {
 protected:
  /// Exports `network` of `trained`, begins a new network with the file, and expects equal values.
  void expect_given_back(const JobSpec& job, const Outcome& trained, NetworkId network,
                         WeightsKind kind) {
    const std::string& name = job.networks[network].name;
    const auto file = next_folder().concat(name + ".safetensors");
    checkpoint::StoredState state(trained.checkpoint);
    const bool is_average = checkpoint::export_weights(state, name, kind, file).is_average;
    const Architecture architecture = job.architectures()[network];
    // The checks of `gangway run` before it starts.
    checkpoint::InitialWeights(name + ".weights", file)
        .require_parameters(num_parameters(architecture), statistic_names(architecture));
    PerNetwork<gan::Network> fresh = gan::build_networks(job);
    fresh[network].initialise(job.training.seed + 1);
    worker::NetworkState begun(fresh[network], {});
    worker::load_initial_weights(name + ".weights", file, begun);
    const auto stored = tensors_of(trained.checkpoint);
    for (const auto& place : begun.places()) {
      const std::string source =
          (is_average ? name + "_ema" : name) + place.name.substr(place.name.find('/'));
      if (!checkpoint::is_of_a_training(place.name)) {
        EXPECT_TRUE(at::equal(worker::NetworkState::view(begun.weights().data(), place).cpu(),
                              stored.at(source).reshape(place.sizes)))
            << place.name;
      }
    }
  }
};

TEST_F(Exports, OfEveryFamilyBeginATraining) {
  std::set<const ModelFamily*> seen;
  for (const NamedJob& named : job_breadth(images())) {
    if (!seen.insert(named.job.model.family).second) {
      continue;
    }
    SCOPED_TRACE(named.name);
    const Outcome& trained = trained_alone(named.job, named.steps);
    for (const NetworkId network : named.job.networks.ids()) {
      expect_given_back(named.job, trained, network, WeightsKind::kLast);
      expect_given_back(named.job, trained, network, WeightsKind::kAverage);
    }
  }
  EXPECT_EQ(seen.size(), families().size());
}

/// State that depends on a training's data is not exported, and the new training keeps its own.
TEST_F(Exports, BeginATrainingThatAdaptsOrHasMovingMeans) {
  JobSpec lecam = small_dcgan(images());
  lecam.training.lecam.weight = 0.3;
  const std::vector<JobSpec> jobs{small_dcgan(images()), adaptive_dcgan(images()), lecam};
  for (const JobSpec& exported : jobs) {
    const Outcome trained = run(exported, 1, 1);
    for (const JobSpec& begun : jobs) {
      expect_given_back(begun, trained, begun.id_of("discriminator"), WeightsKind::kLast);
    }
  }
}

}  // namespace
}  // namespace gangway::fidelity
