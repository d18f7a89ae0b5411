// SPDX-License-Identifier: MIT
// The contract where networks are apart: the layout still decides only the speed.
#include <gtest/gtest.h>

#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

class Apart : public BesideOneWorker {
 protected:
  /// With generator and discriminator where they are told to be.
  void expect_equal_bits(const JobSpec& job, std::int64_t steps, int workers,
                         const std::vector<int>& generator, const std::vector<int>& discriminator) {
    BesideOneWorker::expect_equal_bits(job, steps, workers, [&](JobSpec& divided) {
      divided.placement("generator").workers = generator;
      divided.placement("discriminator").workers = discriminator;
    });
  }
};

TEST_F(Apart, TwoWorkersWithANetworkEach) { expect_equal_bits(small_mlp(), 3, 2, {0}, {1}); }

TEST_F(Apart, ImagesTravelInTheirOrder) {
  expect_equal_bits(small_dcgan(images()), 3, 2, {0}, {1});
}

TEST_F(Apart, UnequalGroups) { expect_equal_bits(small_dcgan(images()), 3, 4, {0}, {1, 2, 3}); }

TEST_F(Apart, GroupsThatOverlap) { expect_equal_bits(small_dcgan(images()), 3, 3, {}, {1, 2}); }

class EveryJobApart : public Apart, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryJobApart, HasOneWorkersBits) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.training.translation.pool = 0;
  if (job.scales_losses()) {
    GTEST_SKIP() << "one loss scale of all networks";
  }
  const Outcome& alone = trained_alone(job, named.steps);
  // Each network on a worker of its own, all but the first on two, all but the last on two.
  const auto place = [&job](NetworkId network, std::vector<int> workers) {
    job.layout.networks[network].workers = std::move(workers);
  };
  const auto last = static_cast<NetworkId>(job.networks.size() - 1);
  // Two of the three, by turns, and by turns beside each overlap.
  for (std::size_t turn = 0; turn < (named.is_large ? 1 : 2); ++turn) {
    const std::size_t layout = (GetParam() + turn) % 3;
    int workers = 3;
    for (const NetworkId network : job.networks.ids()) {
      const int index = static_cast<int>(network);
      if (layout == 0) {
        place(network, {index});
        workers = index + 1;
      } else if (layout == 1) {
        place(network, index == 0 ? std::vector<int>{2} : std::vector<int>{0, 1});
      } else {
        place(network, network == last ? std::vector<int>{1} : std::vector<int>{0, 2});
      }
    }
    job.layout.overlap = static_cast<Overlap>((layout + GetParam() / 3) % 3);
    const std::vector<int> hosts(static_cast<std::size_t>(layout == 1 ? workers : 0), 0);
    const Outcome apart =
        train({.job = job, .workers = workers, .end = named.steps, .hosts = hosts}, next_folder());
    EXPECT_EQ(apart.digest, alone.digest) << "layout " << layout;
    EXPECT_TRUE(same_losses(apart, alone)) << "layout " << layout;
    std::filesystem::remove_all(apart.checkpoint);
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobApart,
                         ::testing::Range(std::size_t{0}, named_jobs().size()),
                         [](const auto& instance) { return named_jobs()[instance.param].name; });

TEST_F(Apart, ResumingOnAnyOtherLayoutEqualsOneGo) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  const Outcome& one_go = trained_alone(job, 6);
  job.placement("generator").workers = {0};
  job.placement("discriminator").workers = {1, 2};
  const Outcome first = train({.job = job, .workers = 3, .end = 2}, next_folder());
  job.placement("generator").workers.clear();
  job.placement("discriminator").workers.clear();
  const Outcome second = train(
      {.job = job, .workers = 2, .begin = 2, .end = 4, .resume = first.checkpoint}, next_folder());
  job.placement("generator").workers = {1};
  job.placement("discriminator").workers = {0};
  const Outcome third = train(
      {.job = job, .workers = 2, .begin = 4, .end = 6, .resume = second.checkpoint}, next_folder());
  EXPECT_EQ(third.digest, one_go.digest);
}

}  // namespace
}  // namespace gangway::fidelity
