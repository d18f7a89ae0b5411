// SPDX-License-Identifier: MIT
// The contract where networks are apart: the layout still decides only the speed.
#include <gtest/gtest.h>

#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {
namespace {

class Apart : public ::testing::Test {
 protected:
  Apart() { write_tiny_images(images()); }
  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  /// Trains `job` on one worker, then with generator and discriminator where they are told to be.
  void expect_equal_bits(JobSpec job, std::int64_t steps, int workers,
                         const std::vector<int>& generator, const std::vector<int>& discriminator) {
    const Outcome alone = train({.job = job, .end = steps}, next_folder());
    ASSERT_TRUE(is_finite(alone));
    job.network("generator").workers = generator;
    job.network("discriminator").workers = discriminator;
    const Outcome apart = train({.job = job, .workers = workers, .end = steps}, next_folder());
    EXPECT_EQ(apart.digest, alone.digest);
    EXPECT_TRUE(same_losses(apart, alone));
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

TEST_F(Apart, TwoWorkersWithANetworkEach) { expect_equal_bits(small_mlp(), 3, 2, {0}, {1}); }

TEST_F(Apart, ImagesTravelInTheirOrder) {
  expect_equal_bits(small_dcgan(images()), 3, 2, {0}, {1});
}

TEST_F(Apart, UnequalGroups) { expect_equal_bits(small_dcgan(images()), 3, 4, {0}, {1, 2, 3}); }

TEST_F(Apart, GroupsThatOverlap) { expect_equal_bits(small_dcgan(images()), 3, 3, {}, {1, 2}); }

}  // namespace
}  // namespace gangway::fidelity
