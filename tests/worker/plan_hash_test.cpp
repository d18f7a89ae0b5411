// SPDX-License-Identifier: MIT
#include "worker/plan_hash.hpp"

#include <functional>
#include <set>

#include <gtest/gtest.h>

namespace gangway::worker {
namespace {

/// Everything that a plan consists of, to be changed one by one.
struct Parts {
  std::vector<comm::ArenaLayout::Tensor> generator{{"generator/0/weight", 9'000}};
  std::vector<comm::ArenaLayout::Tensor> discriminator{{"discriminator/0/weight", 9'000}};
  std::size_t buckets = 2;
  std::vector<comm::MicrobatchRange> ranges{{0, 2}, {2, 4}};
  std::vector<int> hosts{0, 0};
  std::string device = "cpu";
  JobSpec job;

  [[nodiscard]] std::uint64_t hash() const {
    const int workers = static_cast<int>(ranges.size());
    return plan_hash({.generator = comm::BucketPlan({generator, {}}, workers, buckets),
                      .discriminator = comm::BucketPlan({discriminator, {}}, workers, buckets),
                      .ranges = ranges,
                      .hosts = hosts,
                      .device = device},
                     job);
  }
};

TEST(PlanHashTest, IsEqualForEqualPlans) { EXPECT_EQ(Parts().hash(), Parts().hash()); }

TEST(PlanHashTest, ChangesWithAllThatAnExchangeReliesOn) {
  const std::vector<std::function<void(Parts&)>> changes{
      [](Parts& parts) { parts.generator[0].name = "generator/0/bias"; },
      [](Parts& parts) { parts.generator[0].elements = 9'001; },
      [](Parts& parts) {
        parts.discriminator.push_back({"discriminator/0/bias", 1});
      },
      [](Parts& parts) { parts.device = "NVIDIA H100"; },
      [](Parts& parts) { parts.job.numerics.order = SumOrder::kNccl; },
      [](Parts& parts) { parts.job.numerics.kernels = KernelChoice::kFastest; },
      [](Parts& parts) { std::swap(parts.generator, parts.discriminator); },
      [](Parts& parts) { parts.buckets = 3; },
      [](Parts& parts) {
        parts.ranges = {{0, 1}, {1, 4}};
      },
      [](Parts& parts) {
        parts.ranges = {{0, 4}}, parts.hosts = {0};
      },
      [](Parts& parts) {
        parts.hosts = {0, 1};
      },
      [](Parts& parts) { parts.job.training.microbatches = 4; },
      [](Parts& parts) { parts.job.numerics.memory_format = MemoryFormat::kContiguous; },
      [](Parts& parts) { parts.job.numerics.wire.generator = WireFormat::kBf16; },
      [](Parts& parts) { parts.job.numerics.wire.discriminator = WireFormat::kBf16; },
      [](Parts& parts) { parts.job.layout.check_steps = 7; },
      [](Parts& parts) { parts.job.layout.audit = true; },
  };
  std::set<std::uint64_t> hashes{Parts().hash()};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Parts parts;
    changes[i](parts);
    EXPECT_TRUE(hashes.insert(parts.hash()).second) << "change " << i;
  }
}

TEST(PlanHashTest, LeavesOutWhatOnlyDecidesTheSpeedOfOneWorker) {
  Parts parts;
  parts.job.data.prefetch = 9;
  parts.job.layout.overlap = Overlap::kNone;
  parts.job.output.tick_kimg = 3.0;
  EXPECT_EQ(parts.hash(), Parts().hash());
}

}  // namespace
}  // namespace gangway::worker
