// SPDX-License-Identifier: MIT
#include "job/layout/layout.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/families/families.hpp"
#include "job/models/recipes.hpp"

namespace gangway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::SizeIs;

JobSpec job_with(const std::vector<int>& generator, const std::vector<int>& discriminator) {
  JobSpec job;
  job.training.microbatches = 6;
  job.placement("generator").workers = generator;
  job.placement("discriminator").workers = discriminator;
  return job;
}

std::string refusal(const JobSpec& job, int workers) {
  try {
    (void)resolve_layout(job, workers);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(NetworkGroups, HoldAllByAllUnlessTheLayoutSaysOtherwise) {
  const auto groups = resolve_layout(job_with({}, {}), 3);
  EXPECT_FALSE(groups.is_apart());
  for (const NetworkGroup& group : groups) {
    EXPECT_THAT(group.workers, ElementsAre(0, 1, 2));
    EXPECT_EQ(group.range_of(1), (MicrobatchRange{2, 4}));
  }
}

TEST(NetworkGroups, HaveTheSharesThatAreNamed) {
  JobSpec job = job_with({}, {});
  job.layout.shares = {3, 1, 2};
  for (const NetworkGroup& group : resolve_layout(job, 3)) {
    EXPECT_THAT(group.ranges,
                ElementsAre(MicrobatchRange{0, 3}, MicrobatchRange{3, 4}, MicrobatchRange{4, 6}));
  }
  EXPECT_EQ(refusal(job, 2),
            "layout.shares [3, 1, 2] lists 3 workers, and there are 2; use -n 3 or "
            "layout.shares=auto");
}

TEST(NetworkGroups, OfUnequalSizesHaveRangesOfTheirOwn) {
  const JobSpec job = job_with({0}, {1, 2, 3});
  const auto groups = resolve_layout(job, 4);
  EXPECT_TRUE(groups.is_apart());
  const NetworkGroup& generator = groups[job.id_of("generator")];
  const NetworkGroup& discriminator = groups[job.id_of("discriminator")];
  EXPECT_EQ(generator.range_of(0), (MicrobatchRange{0, 6}));
  EXPECT_EQ(generator.range_of(1).size(), 0);
  EXPECT_EQ(discriminator.range_of(2), (MicrobatchRange{2, 4}));
  EXPECT_EQ(discriminator.worker_of(5), 3);
  EXPECT_THROW((void)discriminator.worker_of(6), InvariantError);
  EXPECT_EQ(groups.range_of(0), (MicrobatchRange{0, 6}));
}

TEST(NetworkGroups, RefuseWhatCannotBeSharedOut) {
  EXPECT_EQ(
      refusal(job_with({0}, {1, 2}), 2),
      "layout.discriminator names rank 3, and the last of 2 workers is rank 2; use -n 3 or other "
      "ranks");
  EXPECT_EQ(refusal(job_with({0}, {0}), 2),
            "the layout places no network on rank 2 of 2; name it in layout.generator, or start "
            "fewer workers");
  EXPECT_THAT(refusal(job_with({0}, {1, 2, 3, 4, 5, 6, 7}), 8),
              ::testing::HasSubstr("layout.discriminator names 7 workers"));
  EXPECT_THAT(refusal(job_with({}, {}), 7),
              ::testing::HasSubstr("7 workers cannot share training.microbatches 6"));
  EXPECT_EQ(refusal(job_with({0}, {1, 2, 3, 4, 5, 6}), 7), "");
}

JobSpec staged_job(int stages) {
  JobSpec job = job_with({}, {});
  job.layout.stages = stages;
  return job;
}

TEST(NetworkGroups, OfCutNetworksHaveEachChunkOnAsManyWorkers) {
  const JobSpec job = staged_job(2);
  const auto groups = resolve_layout(job, 4);
  EXPECT_TRUE(groups.is_apart());
  const NetworkGroup& group = groups[job.id_of("generator")];
  EXPECT_EQ(group.num_chunks(), 2);
  EXPECT_EQ(group.chunk_of(1), ChunkIndex(0));
  EXPECT_EQ(group.chunk_of(2), ChunkIndex(1));
  EXPECT_EQ(group.range_of(2), (MicrobatchRange{0, 3}));
  EXPECT_EQ(group.worker_of(3, ChunkIndex(0)), 1);
  EXPECT_EQ(group.worker_of(3, ChunkIndex(1)), 3);
  EXPECT_THAT(group.group_of(ChunkIndex(1)).workers, ElementsAre(2, 3));
  EXPECT_EQ(group.chunks.front().end, group.chunks.back().begin);
}

TEST(NetworkGroups, InAVHaveTheChunksOfOthersTheOtherWayRound) {
  JobSpec job = job_with({}, {});
  job.layout.stages = 2;
  job.layout.placement = StagePlacement::kV;
  const auto groups = resolve_layout(job, 4);
  const NetworkGroup& generator = groups[NetworkId{0}];
  const NetworkGroup& discriminator = groups[NetworkId{1}];
  EXPECT_THAT(generator.workers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(discriminator.workers, ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(discriminator.chunk_of(3), ChunkIndex(0));
  EXPECT_EQ(discriminator.chunk_of(0), ChunkIndex(1));
  for (int microbatch = 0; microbatch < 6; ++microbatch) {  // generated images stay on their worker
    EXPECT_EQ(generator.worker_of(microbatch, ChunkIndex(1)),
              discriminator.worker_of(microbatch, ChunkIndex(0)));
  }
  job.placement("discriminator").cuts = std::vector<int>{};
  EXPECT_THAT(resolve_layout(job, 4)[NetworkId{1}].workers, ElementsAre(0, 1, 2, 3));
  job.placement("discriminator").cuts = {1};
  job.placement("discriminator").workers = {1, 3};
  EXPECT_THAT(resolve_layout(job, 4)[NetworkId{1}].workers, ElementsAre(3, 1));
}

TEST(NetworkGroups, KeepANetworkWholeThatIsToBe) {
  JobSpec job = staged_job(2);
  job.placement("discriminator").cuts = std::vector<int>();
  const auto groups = resolve_layout(job, 2);
  EXPECT_TRUE(groups[job.id_of("generator")].is_cut());
  EXPECT_FALSE(groups[job.id_of("discriminator")].is_cut());
  EXPECT_THAT(groups[job.id_of("discriminator")].workers, ElementsAre(0, 1));
}

TEST(NetworkGroups, RefuseCutsThatCannotBe) {
  EXPECT_THAT(refusal(staged_job(2), 3),
              ::testing::HasSubstr("3 workers cannot hold 2 chunks of the generator"));
  JobSpec job = staged_job(1);
  job.placement("generator").cuts = std::vector<int>{99};
  EXPECT_THAT(refusal(job, 2), ::testing::HasSubstr("layout.cuts.generator cuts before block 99"));
  JobSpec whole = staged_job(2);
  for (NetworkPlacement& network : whole.layout.networks) {
    network.cuts = std::vector<int>();
  }
  EXPECT_THAT(refusal(whole, 2), ::testing::HasSubstr("no network has two blocks or more"));
}

TEST(NetworkGroups, OfCutNetworksShareTheProducts) {
  const JobSpec job = staged_job(2);  // dcgan: half of its products are those of its third block
  const auto groups = resolve_layout(job, 2);
  EXPECT_EQ(groups[job.id_of("generator")].chunks.front().end, 2);
  EXPECT_EQ(groups[job.id_of("discriminator")].chunks.front().end, 2);
}

TEST(GuessedCosts, AreThoseOfEveryRecipesNetworks) {
  int num_guessed = 0;
  for (const Recipe& recipe : recipes()) {
    for (const ModelFamily& family : families()) {
      JobSpec job = JobSpec::of(recipe);
      job.model.family = &family;
      if (family.makes_images()) {
        job.model.resolution = family.resolutions.front();
      }
      PerNetwork<Architecture> networks;
      try {
        networks = job.architectures();
      } catch (const InvariantError&) {
        continue;  // the family has no such network
      }
      for (const Architecture& network : networks) {
        if (network.blocks.size() == 1) {
          continue;  // cannot be cut
        }
        EXPECT_THAT(guessed_costs(network, job.settled_model(), 4),
                    AllOf(SizeIs(network.blocks.size()), Each(Gt(0.0))))
            << recipe.name << " of " << family.name;
        ++num_guessed;
      }
    }
  }
  EXPECT_GT(num_guessed, 60);
}

TEST(BalancedEnds, MakeTheDearestRunCheapest) {
  EXPECT_THAT(balanced_ends({1, 1, 1, 1}, 2), ElementsAre(2, 4));
  EXPECT_THAT(balanced_ends({5, 1, 1, 1}, 2), ElementsAre(1, 4));
  EXPECT_THAT(balanced_ends({1, 2, 3}, 1), ElementsAre(3));
  EXPECT_THAT(balanced_ends({1, 1, 9}, 3), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace gangway
