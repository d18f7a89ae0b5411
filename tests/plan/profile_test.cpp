// SPDX-License-Identifier: MIT
#include "plan/profiles/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/recipes/recipes.hpp"
#include "plan/profiles/profile_text.hpp"
#include "tests/plan/sample_plan.hpp"

namespace gangway::plan {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string refusal_of(const Profile& profile, const JobSpec& job) {
  try {
    require_fitting(profile, "p.json", job);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(Profile, ComesBackFromItsFileAsItWas) {
  Profile profile = sample_profile(sample_job(2));
  profile.together = {1.0, 1.25};
  profile.wake_seconds = 3e-5;
  profile.own_phases = {{.name = "judge", .networks = {"discriminator"}, .repeats = 2}};
  EXPECT_EQ(parse_profile(to_json(profile), "p.json"), profile);
}

TEST(Profile, RefusesWhatIsNone) {
  const std::string sound = to_json(sample_profile(sample_job(2)));
  std::string negative = sound;
  negative.replace(negative.find("0.004"), 5, "-1.04");
  std::string later = sound;
  later.replace(later.find("\"gangway_profile\": 1"), 20, "\"gangway_profile\": 9");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"),
                                  sound.substr(0, sound.size() / 2), negative, later}) {
    EXPECT_THROW((void)parse_profile(text, "p.json"), ConfigError) << text.substr(0, 80);
  }
  EXPECT_THROW((void)read_profile("/nowhere/p.json"), ConfigError);
}

TEST(Profile, FitsJobsThatDifferInWhatCostsNothing) {
  const Profile profile = sample_profile(sample_job(2));
  EXPECT_EQ(refusal_of(profile, sample_job(8)), "none");
  EXPECT_EQ(refusal_of(profile, sample_job(2, {"training.seed=7", "training.kimg=3",
                                               "generator.optimizer.adam.lr=0.5"})),
            "none");
}

TEST(Profile, DoesNotFitAnotherMicrobatchModelOrStep) {
  const Profile profile = sample_profile(sample_job(2));
  EXPECT_THAT(refusal_of(profile, sample_job(2, {"training.batch=32"})),
              HasSubstr("measured with micro-batches of 8 images, the job's have 16"));
  EXPECT_THAT(refusal_of(profile, sample_job(2, {"model.width=99"})),
              HasSubstr("model is another"));
  EXPECT_THAT(refusal_of(profile, sample_job(2, {"training.r1.gamma=1"})),
              HasSubstr("not what a step does"));
}

TEST(Profile, TimingIsMedianAndHalfTheQuartilesDistance) {
  const Timing timing = timing_of({5.0, 1.0, 2.0, 4.0, 3.0});
  EXPECT_DOUBLE_EQ(timing.seconds, 3.0);
  EXPECT_DOUBLE_EQ(timing.scatter, 1.0);
  EXPECT_EQ(timing_of({}), Timing{});
}

TEST(ProfileText, SetsBlocksBesideTheWhole) {
  const JobSpec job = sample_job(2);
  const std::string text = profile_text(sample_profile(job), gan::phases_of(job), job);
  // Two blocks of 0.5 ms each. No pass needs the first block's input gradient for real data.
  EXPECT_THAT(text, ContainsRegex("discriminator real: discriminator forward +1.000 \\+- 0.000 +"
                                  "1.000 +1.00"));
  EXPECT_THAT(text, ContainsRegex("discriminator real: discriminator backward +2.000 \\+- 0.000 +"
                                  "1.500 +0.75"));
  // Towards the generator only input gradients are needed.
  EXPECT_THAT(text, ContainsRegex("generator generate: discriminator backward +2.000 \\+- 0.000 +"
                                  "1.000 +0.50"));
}

}  // namespace
}  // namespace gangway::plan
