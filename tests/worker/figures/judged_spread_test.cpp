// SPDX-License-Identifier: MIT
// The spread of the examples that a discriminator judges.
#include "worker/figures/judged_spread.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "job/models/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::worker {
namespace {

/// Returns "discriminator_fake_spread of fake" and the like for all passes of the job's phases.
std::vector<std::string> spreads_of(const JobSpec& job) {
  std::vector<std::string> found;
  for (const pipeline::Phase& phase : gan::phases_of(job)) {
    for (const pipeline::Pass& pass : phase.passes) {
      for (const pipeline::Node& node : pass.nodes) {
        const auto* loss = std::get_if<pipeline::Loss>(&node);
        if (loss == nullptr) {
          continue;
        }
        for (const JudgedLogits& judged : judged_by(pass, *loss, job)) {
          if (const std::string of = judged_examples(pass, judged, job); !of.empty()) {
            found.push_back(spread_figure(judged) + " of " + of);
          }
        }
      }
    }
  }
  return found;
}

TEST(JudgedSpread, IsThatOfExamplesBeforeTheyAreAugmented) {
  using ::testing::UnorderedElementsAre;
  JobSpec job;
  EXPECT_TRUE(spreads_of(job).empty()) << "nobody looks";
  job.training.divergence.diversity = 0.1;
  const auto both = UnorderedElementsAre("discriminator_real_spread of real",
                                         "discriminator_fake_spread of fake");
  EXPECT_THAT(spreads_of(job), both);
  job.training.augment.policy = AugmentPolicy::kDiffAugment;
  EXPECT_THAT(spreads_of(job), both);
  job.training.augment = {};
  job.training.loss = LossKind::kRelativistic;
  EXPECT_THAT(spreads_of(job), both);
}

TEST(JudgedSpread, IsThatOfThePictureThatWasMadeWhereAnotherStandsBesideIt) {
  JobSpec job = JobSpec::of(*recipe_named("pix2pix"));
  job.training.divergence.diversity = 0.1;
  EXPECT_THAT(spreads_of(job),
              ::testing::UnorderedElementsAre("discriminator_fake_spread of fake",
                                              "discriminator_real_spread of target"));
}

TEST(JudgedSpread, IsOfEachNetworkThatJudges) {
  JobSpec job = JobSpec::of(*recipe_named("cyclegan"));
  job.training.divergence.diversity = 0.1;
  EXPECT_EQ(spreads_of(job).size(), 4U);
}

TEST(JudgedSpread, IsTheMeanSquareOfDifferencesFromTheNextExample) {
  const at::Tensor examples = at::tensor({0.0F, 0.0F, 1.0F, 3.0F, 1.0F, 3.0F}).reshape({3, 2});
  // (1 + 9) + 0 + (1 + 9), over three examples of two elements.
  EXPECT_FLOAT_EQ(spread_of(examples).item<float>(), 20.0F / 6.0F);
  EXPECT_EQ(spread_of(at::ones({5, 3})).item<float>(), 0.0F);
}

}  // namespace
}  // namespace gangway::worker
