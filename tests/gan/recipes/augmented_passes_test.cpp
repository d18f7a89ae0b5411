// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/recipe_phases.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Augment;
using pipeline::Pass;
using pipeline::Phase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobSpec augmented_job() {
  JobSpec job;
  job.training.augment.policy = AugmentPolicy::kAda;
  return job;
}

/// Returns "real > augmented_real/0" and the like: input, output and stream of each Augment.
std::vector<std::string> augments_of(const Pass& pass) {
  std::vector<std::string> found;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* augment = std::get_if<Augment>(&node)) {
      EXPECT_EQ(augment->judge, kDiscriminator);
      found.push_back(augment->input + " > " + augment->output + "/" +
                      std::to_string(augment->stream));
    }
  }
  return found;
}

/// Returns the images of the discriminator, or of a penalty on it, by node.
std::vector<std::string> judged_in(const Pass& pass) {
  std::vector<std::string> found;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* application = std::get_if<Application>(&node);
        application != nullptr && application->network == kDiscriminator) {
      found.push_back(application->inputs.front().tensor);
    } else if (const auto* penalty = std::get_if<pipeline::Penalty>(&node);
               penalty != nullptr && penalty->network == kDiscriminator) {
      found.push_back(penalty->inputs.front().tensor);
    }
  }
  return found;
}

int harvests_in(const std::vector<Phase>& phases) {
  int count = 0;
  for (const Phase& phase : phases) {
    for (const Pass& pass : phase.passes) {
      count += static_cast<int>(std::ranges::count_if(pass.nodes, [](const auto& node) {
        const auto* application = std::get_if<Application>(&node);
        return application != nullptr && application->harvests_signs;
      }));
    }
  }
  return count;
}

TEST(AugmentedPasses, OfAJobThatDoesNotAugmentAreTheSame) {
  for (const Phase& phase : adversarial_phases(JobSpec{})) {
    for (const Pass& pass : phase.passes) {
      EXPECT_THAT(augments_of(pass), IsEmpty());
    }
  }
  EXPECT_EQ(harvests_in(adversarial_phases(JobSpec{})), 0);
}

TEST(AugmentedPasses, ShowTheDiscriminatorAugmentedPicturesAlone) {
  const std::vector<Phase> phases = adversarial_phases(augmented_job());
  EXPECT_THAT(augments_of(phases[0].passes[0]), ElementsAre("real > augmented_real/0"));
  EXPECT_THAT(judged_in(phases[0].passes[0]), ElementsAre("augmented_real"));
  EXPECT_THAT(augments_of(phases[0].passes[1]), ElementsAre("fake > augmented_fake/1"));
  EXPECT_THAT(judged_in(phases[0].passes[1]), ElementsAre("augmented_fake"));
  EXPECT_THAT(augments_of(phases[1].passes[0]), ElementsAre("fake > augmented_fake/1"));
  EXPECT_THAT(judged_in(phases[1].passes[0]), ElementsAre("augmented_fake"));
}

TEST(AugmentedPasses, LetGradientsOfTheGeneratorThroughAndNoneElsewhere) {
  const std::vector<Phase> phases = adversarial_phases(augmented_job());
  const auto has_gradient = [](const Pass& pass) {
    for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
      if (std::holds_alternative<Augment>(pass.nodes[i])) {
        return static_cast<bool>(pass.has_gradient[i]);
      }
    }
    return false;
  };
  EXPECT_FALSE(has_gradient(phases[0].passes[0]));
  EXPECT_FALSE(has_gradient(phases[0].passes[1]));
  EXPECT_TRUE(has_gradient(phases[1].passes[0]));
}

TEST(AugmentedPasses, PutPenaltiesOnAugmentedPictures) {
  JobSpec job = augmented_job();
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r2_gamma = 1.0};
  const std::vector<Pass> passes = adversarial_phases(job)[0].passes;
  ASSERT_EQ(passes[2].name, "gradient_penalty");
  EXPECT_THAT(augments_of(passes[2]),
              ElementsAre("real > augmented_real/0", "fake > augmented_fake/1"));
  EXPECT_THAT(judged_in(passes[2]), ElementsAre("between"));
  EXPECT_THAT(judged_in(passes[3]), ElementsAre("augmented_real"));
  EXPECT_THAT(judged_in(passes[4]), ElementsAre("augmented_fake"));
}

TEST(AugmentedPasses, LookThroughTheAugmentationWhereTheJobSaysSo) {
  JobSpec job = augmented_job();
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r2_gamma = 1.0};
  for (const PenalisedPictures pictures :
       {PenalisedPictures::kAugmented, PenalisedPictures::kOriginal}) {
    job.training.augment.penalised = pictures;
    const std::vector<Phase> phases = adversarial_phases(job);
    for (const Pass& pass : phases[0].passes) {
      const bool is_meant =
          pictures == PenalisedPictures::kOriginal && (pass.name == "r1" || pass.name == "r2");
      for (const pipeline::Node& node : pass.nodes) {
        if (const auto* augment = std::get_if<Augment>(&node)) {
          EXPECT_EQ(augment->is_looked_through, is_meant) << pass.name;
        } else if (const auto* penalty = std::get_if<pipeline::Penalty>(&node)) {
          EXPECT_EQ(penalty->before_augment, is_meant) << pass.name;
        }
      }
    }
  }
}

TEST(AugmentedPasses, LeaveThePicturesThatAnotherPassTakesUpAsTheyWereMade) {
  JobSpec job = augmented_job();
  job.training.reuse_fakes = true;
  for (const LossKind loss : {LossKind::kNonsaturating, LossKind::kRelativistic}) {
    job.training.loss = loss;
    const std::vector<Phase> phases = adversarial_phases(job);  // throws if they differ
    ASSERT_TRUE(phases[1].passes[0].recall.has_value());
    for (int i = 0; i < phases[1].passes[0].recall->nodes; ++i) {
      EXPECT_FALSE(
          std::holds_alternative<Augment>(phases[1].passes[0].nodes[static_cast<std::size_t>(i)]));
    }
  }
}

TEST(AugmentedPasses, TakeTheStrengthThatTheJudgeHadWhereItAdapts) {
  JobSpec job = augmented_job();
  job.training.loss = LossKind::kRelativistic;  // both share the strength
  const Pass adaptive = adversarial_phases(job)[0].passes[0];
  job.training.augment.strength = 0.5;
  const Pass fixed = adversarial_phases(job)[0].passes[0];
  for (const Pass* pass : {&adaptive, &fixed}) {
    int augments = 0;
    int strengths = 0;
    for (const pipeline::Node& node : pass->nodes) {
      if (const auto* augment = std::get_if<Augment>(&node)) {
        ++augments;
        EXPECT_EQ(augment->strength, pass == &adaptive ? kAugmentStrength : "");
      }
      const auto* running = std::get_if<pipeline::Running>(&node);
      strengths += running != nullptr && running->network == kDiscriminator ? 1 : 0;
    }
    EXPECT_EQ(augments, 2);
    EXPECT_EQ(strengths, pass == &adaptive ? 1 : 0);
  }
}

TEST(AugmentedPasses, TakeTheStrengthThatTheUpdateStoresBeforeItAndBehindIt) {
  JobSpec job = augmented_job();
  job.training.penalty.r1_gamma = 1.0;
  job.training.penalty.r1_interval = 4;  // its own phase, after both others
  std::vector<bool> moved;
  for (const pipeline::Phase& phase : adversarial_phases(job)) {
    for (const pipeline::Node& node : phase.passes[0].nodes) {
      const auto* running = std::get_if<pipeline::Running>(&node);
      if (running != nullptr && running->statistic == kAugmentStrength) {
        moved.push_back(running->is_moved);
      }
    }
  }
  EXPECT_EQ(moved, (std::vector<bool>{true, false, false}));
}

TEST(AugmentedPasses, HarvestSignsOfRealPicturesOnceAMicrobatchWhereTheStrengthAdapts) {
  JobSpec job = augmented_job();
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 4};
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_EQ(harvests_in(phases), 1);
  EXPECT_TRUE(std::get<Application>(phases[0].passes[0].nodes[3]).harvests_signs);
  job.training.augment.strength = 0.5;
  EXPECT_EQ(harvests_in(adversarial_phases(job)), 0);
  job.training.augment = {.policy = AugmentPolicy::kDiffAugment};
  EXPECT_EQ(harvests_in(adversarial_phases(job)), 0);
}

}  // namespace
}  // namespace gangway::gan
