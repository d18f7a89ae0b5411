// SPDX-License-Identifier: MIT
#include "worker/plan_hash.hpp"

#include <functional>
#include <set>

#include <gtest/gtest.h>

namespace gangway::worker {
namespace {

/// All parts of a plan; tests change one at a time.
struct PlanParts {
  std::vector<comm::ArenaLayout::Tensor> generator{{"generator/0/weight", 9'000}};
  std::vector<comm::ArenaLayout::Tensor> discriminator{{"discriminator/0/weight", 9'000}};
  std::size_t buckets = 2;
  Layout layout{{.workers = {0, 1}, .ranges = {{0, 2}, {2, 4}}}};
  std::vector<int> hosts{0, 0};
  std::vector<int> machines{0, 0};
  std::string device = "cpu";
  JobSpec job;

  [[nodiscard]] std::uint64_t hash() const {
    const int workers = layout.num_workers();
    const comm::BucketPlan first({generator, {}}, workers, buckets);
    const comm::BucketPlan second({discriminator, {}}, workers, buckets);
    return plan_hash({.networks = {&first, &second},
                      .layout = layout,
                      .hosts = hosts,
                      .machines = machines,
                      .device = device},
                     job);
  }
};

TEST(PlanHashTest, IsEqualForEqualPlans) { EXPECT_EQ(PlanParts().hash(), PlanParts().hash()); }

TEST(PlanHashTest, ChangesWithAllThatAnExchangeReliesOn) {
  const std::vector<std::function<void(PlanParts&)>> changes{
      [](PlanParts& parts) { parts.generator[0].name = "generator/0/bias"; },
      [](PlanParts& parts) { parts.generator[0].elements = 9'001; },
      [](PlanParts& parts) {
        parts.discriminator.push_back({"discriminator/0/bias", 1});
      },
      [](PlanParts& parts) { parts.device = "NVIDIA H100"; },
      [](PlanParts& parts) { parts.job.numerics.order = SumOrder::kNccl; },
      [](PlanParts& parts) { parts.job.numerics.kernels = KernelChoice::kFastest; },
      [](PlanParts& parts) { std::swap(parts.generator, parts.discriminator); },
      [](PlanParts& parts) { parts.buckets = 3; },
      [](PlanParts& parts) {
        parts.layout = {{.workers = {0, 1}, .ranges = {{0, 1}, {1, 4}}}};
      },
      [](PlanParts& parts) {
        parts.layout = {{.workers = {0}, .ranges = {{0, 4}}}}, parts.hosts = {0};
      },
      [](PlanParts& parts) {
        parts.hosts = {0, 1};
      },
      [](PlanParts& parts) {
        parts.machines = {0, 1};
      },
      [](PlanParts& parts) { parts.job.training.microbatches = 4; },
      [](PlanParts& parts) { parts.job.numerics.memory_format = MemoryFormat::kContiguous; },
      [](PlanParts& parts) { parts.job.network("generator").wire = WireFormat::kBf16; },
      [](PlanParts& parts) { parts.job.network("discriminator").wire = WireFormat::kBf16; },
      [](PlanParts& parts) { parts.layout.check_steps = 7; },
      [](PlanParts& parts) { parts.layout.audit = true; },
  };
  std::set<std::uint64_t> hashes{PlanParts().hash()};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PlanParts parts;
    changes[i](parts);
    EXPECT_TRUE(hashes.insert(parts.hash()).second) << "change " << i;
  }
}

TEST(PlanHashTest, LeavesOutWhatOnlyDecidesTheSpeedOfOneWorker) {
  PlanParts parts;
  parts.job.data.prefetch = 9;
  parts.layout.overlap = Overlap::kNone;
  parts.job.output.tick_kimg = 3.0;
  EXPECT_EQ(parts.hash(), PlanParts().hash());
}

}  // namespace
}  // namespace gangway::worker
