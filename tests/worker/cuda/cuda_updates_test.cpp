// SPDX-License-Identifier: MIT
// Audits, norms and histograms of updates on devices, on stand-ins, compared with the CPU's path.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/worker/cuda/cuda_training.hpp"

namespace gangway::fidelity {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CudaUpdates : public CudaTraining {
 protected:
  ~CudaUpdates() override { fake::miscompute(false); }
  Outcome on_cpus(const JobSpec& job, int workers, std::int64_t steps) {
    return train({.job = job, .workers = workers, .end = steps}, next_folder());
  }
};

JobSpec audited(JobSpec job) {
  job.layout.check_steps = 1;
  job.layout.audit = true;
  return job;
}

TEST_F(CudaUpdates, AreAuditedWithTheSameBits) {
  JobSpec job = audited(small_dcgan(images()));
  for (const int workers : {2, 3}) {
    fake::dawdle(workers);
    EXPECT_EQ(on_devices(job, workers, 0, 3).digest, on_cpu(job, 3).digest) << workers;
  }
  job.networks[NetworkId{0}].clip_norm = 0.05;
  job.networks[NetworkId{1}].optimizer.kind = OptimizerKind::kAdamW;
  EXPECT_EQ(on_devices(job, 2, 0, 3).digest, on_cpu(job, 3).digest);
  job.layout.stages = 2;
  EXPECT_EQ(on_devices(job, 4, 0, 3).digest, on_cpu(job, 3).digest);
}

TEST_F(CudaUpdates, OfADeviceThatMiscomputesAreFoundByTheAudit) {
  const JobSpec job = audited(small_dcgan(images()));
  fake::miscompute(true);
  try {
    (void)on_devices(job, 2, 0, 40);
    ADD_FAILURE() << "nobody has noticed";
  } catch (const InvariantError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("updated '"), HasSubstr("(weights) to other bits"),
                                    HasSubstr("which recomputed it")));
  }
}

TEST_F(CudaUpdates, AreNotLookedAtWhereNobodyAsks) {
  JobSpec job = small_dcgan(images());
  fake::miscompute(true);  // equally on all workers
  EXPECT_NE(on_devices(job, 2, 0, 3).digest, on_cpu(job, 3).digest);
}

/// Norms in each step, histograms in every second step.
JobSpec shown(JobSpec job) {
  const double kimg_of_a_step = static_cast<double>(job.images_per_step()) / 1000.0;
  job.output.tick_kimg = kimg_of_a_step;
  job.output.histograms_kimg = 2 * kimg_of_a_step;
  return job;
}

void expect_same_figures(const Outcome& devices, const Outcome& cpus) {
  EXPECT_EQ(devices.digest, cpus.digest);
  ASSERT_GT(cpus.squares.size(), 5U);
  ASSERT_EQ(devices.squares.size(), cpus.squares.size());
  for (const auto& [update, expected] : cpus.squares) {
    const messages::UpdateSquares found = devices.squares.at(update);
    EXPECT_DOUBLE_EQ(found.gradient, expected.gradient);  // parts of three workers, in any order
    EXPECT_DOUBLE_EQ(found.change, expected.change);
    EXPECT_DOUBLE_EQ(found.weights, expected.weights);
    EXPECT_GT(found.gradient, 0.0);
    EXPECT_GT(found.change, 0.0);
  }
  ASSERT_GT(cpus.histograms.size(), 20U);
  ASSERT_EQ(devices.histograms.size(), cpus.histograms.size());
  for (const auto& [tag, expected] : cpus.histograms) {
    const HistogramCounts found = devices.histograms.at(tag).counts();
    const HistogramCounts counts = expected.counts();
    EXPECT_EQ(found.buckets, counts.buckets) << tag;
    EXPECT_EQ(found.counts, counts.counts) << tag;
    EXPECT_EQ(found.least, counts.least) << tag;
    EXPECT_EQ(found.most, counts.most) << tag;
    EXPECT_NEAR(found.sum, counts.sum, 1e-9 * (1.0 + std::abs(counts.sum))) << tag;
    EXPECT_NEAR(found.sum_of_squares, counts.sum_of_squares, 1e-9 * counts.sum_of_squares) << tag;
  }
}

TEST_F(CudaUpdates, AreShownToPeopleAsThoseOfCpus) {
  JobSpec job = shown(small_dcgan(images()));
  for (const int workers : {1, 3}) {
    fake::dawdle(workers);
    expect_same_figures(on_devices(job, workers, 0, 6), on_cpus(job, workers, 6));
  }
  job.networks[NetworkId{0}].clip_norm = 0.05;
  expect_same_figures(on_devices(job, 2, 0, 6), on_cpus(job, 2, 6));
}

TEST_F(CudaUpdates, AreShownWhereNcclAddsUp) {
  JobSpec job = shown(small_dcgan(images()));
  job.numerics.order = SumOrder::kNccl;
  const Outcome devices = on_devices(job, 2, 0, 6);
  const Outcome cpus = on_cpus(job, 2, 6);
  ASSERT_EQ(devices.squares.size(), cpus.squares.size());
  for (const auto& [update, expected] : cpus.squares) {
    const messages::UpdateSquares found = devices.squares.at(update);
    EXPECT_NEAR(found.gradient / expected.gradient, 1.0, 0.05);
    EXPECT_NEAR(found.weights / expected.weights, 1.0, 1e-3);
  }
}

}  // namespace
}  // namespace gangway::fidelity
