// SPDX-License-Identifier: MIT
// Trains jobs on one worker, and under a layout, for comparison.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/campaign.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {

class BesideOneWorker : public ::testing::Test {
 protected:
  [[nodiscard]] static const std::filesystem::path& images() { return tiny_images(); }
  [[nodiscard]] std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  /// Trains steps [0, steps) of `job`.
  [[nodiscard]] Outcome run(const JobSpec& job, int workers, std::int64_t steps) {
    return train({.job = job, .workers = workers, .end = steps}, next_folder());
  }
  /// Trains steps [begin, end) from the checkpoint of `before`.
  [[nodiscard]] Outcome resumed(const JobSpec& job, int workers, std::int64_t begin,
                                std::int64_t end, const Outcome& before) {
    return train(
        {.job = job, .workers = workers, .begin = begin, .end = end, .resume = before.checkpoint},
        next_folder());
  }
  /// Trains `stretch`, and expects the result of one worker. Leaves no checkpoint.
  void expect_equal_bits(const Stretch& stretch) {
    const Outcome& alone = trained_alone(stretch.job, stretch.end);
    ASSERT_TRUE(is_finite(alone));
    const Outcome divided = train(stretch, next_folder());
    EXPECT_EQ(divided.digest, alone.digest) << stretch.workers << " workers";
    EXPECT_TRUE(same_losses(divided, alone)) << stretch.workers << " workers";
    std::filesystem::remove_all(divided.checkpoint);
  }
  /// The same with the layout that `divide` sets.
  void expect_equal_bits(JobSpec job, std::int64_t steps, int workers,
                         const std::function<void(JobSpec&)>& divide) {
    divide(job);
    expect_equal_bits({.job = job, .workers = workers, .end = steps});
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

/// Calls job_breadth() without a folder, because test parameters are made before any folder exists.
[[nodiscard]] inline const std::vector<NamedJob>& named_jobs() {
  static const std::vector<NamedJob> jobs = job_breadth("");
  return jobs;
}

[[nodiscard]] inline auto every_job() {
  return ::testing::Range(std::size_t{0}, named_jobs().size());
}

/// The same without jobs of millions of weights, which only a campaign trains.
[[nodiscard]] inline auto every_small_job() {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < named_jobs().size(); ++number) {
    if (!named_jobs()[number].is_large || testing::is_campaign()) {
      numbers.push_back(number);
    }
  }
  return ::testing::ValuesIn(numbers);
}

[[nodiscard]] inline std::string name_of_job(
    const ::testing::TestParamInfo<std::size_t>& instance) {
  return named_jobs()[instance.param].name;
}

}  // namespace gangway::fidelity
