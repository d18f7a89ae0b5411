// SPDX-License-Identifier: MIT
// Networks that grow in training: what is not there yet stays as it began, and a run goes on across
// a growth step on any number of workers.
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {
namespace {

class Growth : public ::testing::Test {
 protected:
  Growth() { write_tiny_images(images()); }

  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  Outcome run(const JobSpec& job, int workers, std::int64_t begin, std::int64_t end,
              const std::filesystem::path& resume = {}) {
    return train({.job = job, .workers = workers, .begin = begin, .end = end, .resume = resume},
                 next_folder());
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

TEST_F(Growth, GoesOnWithTheSameBitsWhereverARunIsCut) {
  const JobSpec job = small_progressive(images());
  const Outcome one_go = run(job, 1, 0, 5);
  ASSERT_TRUE(is_finite(one_go));
  for (const std::int64_t cut : {1, 2, 3, 4}) {  // before, within and behind the fade to 8 pixels
    const Outcome before = run(job, 3, 0, cut);
    const Outcome behind = run(job, 2, cut, 5, before.checkpoint);
    EXPECT_EQ(behind.digest, one_go.digest) << "cut at step " << cut;
  }
}

TEST_F(Growth, LeavesWhatIsNotThereYetAsItBegan) {
  JobSpec job = small_progressive(images());
  job.network("discriminator").ema_kimg = 0.05;
  job.training.loss = LossKind::kNonsaturating;  // of which the last bias has a gradient
  job.training.penalty = {};
  const auto state = tensors_of(run(job, 2, 0, 4).checkpoint);  // 4 and 8 pixels
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
  const Outcome usual = run(job, 1, 0, 2);
  job.training.growth.fade_kimg = 0.024;
  EXPECT_NE(run(job, 1, 0, 2).digest, usual.digest);
}

}  // namespace
}  // namespace gangway::fidelity
