// SPDX-License-Identifier: MIT
// Jobs that are trained on one worker, and then as a layout divides them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {

class BesideOneWorker : public ::testing::Test {
 protected:
  BesideOneWorker() { write_tiny_images(images()); }
  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  [[nodiscard]] std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  /// Trains `job` on one worker, then as `divide` has its layout, on `workers`.
  void expect_equal_bits(JobSpec job, std::int64_t steps, int workers,
                         const std::function<void(JobSpec&)>& divide) {
    const Outcome& alone = trained_alone(job, steps);
    ASSERT_TRUE(is_finite(alone));
    divide(job);
    const Outcome divided = train({.job = job, .workers = workers, .end = steps}, next_folder());
    EXPECT_EQ(divided.digest, alone.digest);
    EXPECT_TRUE(same_losses(divided, alone));
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

/// job_breadth() without a folder: parameters of tests are made before any folder exists.
[[nodiscard]] inline const std::vector<NamedJob>& named_jobs() {
  static const std::vector<NamedJob> jobs = job_breadth("");
  return jobs;
}

}  // namespace gangway::fidelity
