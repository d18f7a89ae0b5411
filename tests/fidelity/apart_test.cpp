// SPDX-License-Identifier: MIT
// The contract for networks on separate workers: the layout decides only the speed.
#include <gtest/gtest.h>

#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

class Apart : public BesideOneWorker {
 protected:
  using BesideOneWorker::expect_equal_bits;
  /// Places generator and discriminator on the given workers.
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
  expect_equal_bits(small_dcgan(images()), 2, 2, {0}, {1});
}

TEST_F(Apart, UnequalGroups) { expect_equal_bits(small_dcgan(images()), 2, 4, {0}, {1, 2, 3}); }

TEST_F(Apart, GroupsThatOverlap) { expect_equal_bits(small_dcgan(images()), 2, 3, {}, {1, 2}); }

class EveryJobApart : public Apart, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryJobApart, HasOneWorkersBits) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.training.translation.pool = 0;
  if (job.scales_losses()) {
    GTEST_SKIP() << "one loss scale of all networks";
  }
  // Each network on its own worker; then all but the first on two workers; then all but the last.
  const auto place = [&job](NetworkId network, std::vector<int> workers) {
    job.layout.networks[network].workers = std::move(workers);
  };
  const auto last = static_cast<NetworkId>(job.networks.size() - 1);
  for (const std::size_t turn : testing::turns(GetParam(), 9)) {  // each with each overlap
    const std::size_t layout = turn % 3;
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
    job.layout.overlap = static_cast<Overlap>(turn / 3);
    const std::vector<int> hosts(static_cast<std::size_t>(layout == 1 ? workers : 0), 0);
    SCOPED_TRACE(layout);
    expect_equal_bits(Stretch{.job = job, .workers = workers, .end = named.steps, .hosts = hosts});
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobApart, every_small_job(), name_of_job);

TEST_F(Apart, ResumingOnAnyOtherLayoutEqualsOneGo) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  const Outcome& one_go = trained_alone(job, 4);
  job.placement("generator").workers = {0};
  job.placement("discriminator").workers = {1, 2};
  const Outcome first = run(job, 3, 1);
  job.placement("generator").workers.clear();
  job.placement("discriminator").workers.clear();
  const Outcome second = resumed(job, 2, 1, 2, first);
  job.placement("generator").workers = {1};
  job.placement("discriminator").workers = {0};
  EXPECT_EQ(resumed(job, 2, 2, 4, second).digest, one_go.digest);
}

}  // namespace
}  // namespace gangway::fidelity
