// SPDX-License-Identifier: MIT
// Growing networks: unused blocks keep their initial values, and a run resumes across a growth step
// on any number of workers.
#include <string>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

class Growth : public BesideOneWorker {};

TEST_F(Growth, GoesOnWithTheSameBitsWhereverARunIsCut) {
  const JobSpec job = small_progressive(images());
  const Outcome& one_go = trained_alone(job, 5);
  ASSERT_TRUE(is_finite(one_go));
  Outcome last = run(job, 3, 1);
  for (std::int64_t cut = 1; cut < 5; ++cut) {  // before, within and after the fade to 8 pixels
    last = resumed(job, cut % 2 == 0 ? 3 : 2, cut, cut + 1, last);
  }
  EXPECT_EQ(last.digest, one_go.digest);
}

TEST_F(Growth, LeavesWhatIsNotThereYetAsItBegan) {
  JobSpec job = small_progressive(images());
  job.network("discriminator").ema_kimg = 0.05;
  job.training.loss = LossKind::kNonsaturating;  // its gradient reaches the last bias
  job.training.penalty = {};
  const auto state = tensors_of(run(job, 2, 4).checkpoint);  // 4 and 8 pixels
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  for (const NetworkId id : {kGenerator, kDiscriminator}) {
    networks[id].initialise(job.training.seed);
    for (const auto& named : networks[id].parameters()) {
      const bool is_there = id == kGenerator ? named.block <= 1 : named.block >= 2;
      const std::string within = named.name.substr(named.name.find('/'));
      const std::string network = networks[id].name();
      const at::Tensor first = named.parameter->tensor.detach();
      EXPECT_EQ(state.at(named.name).equal(first), !is_there) << named.name;
      EXPECT_EQ(state.at(network + "_ema" + within).equal(first), !is_there) << named.name;
      const at::Tensor moment = state.at(network + "_optimizer/second_moment" + within);
      EXPECT_EQ(moment.abs().max().item<float>() == 0.0F, !is_there) << named.name;
    }
  }
}

TEST_F(Growth, DecidesTheNumbersByItsSchedule) {
  JobSpec job = small_progressive(images());
  const Outcome usual = run(job, 1, 2);
  job.training.growth.fade_kimg = 0.024;
  EXPECT_NE(run(job, 1, 2).digest, usual.digest);
}

}  // namespace
}  // namespace gangway::fidelity
