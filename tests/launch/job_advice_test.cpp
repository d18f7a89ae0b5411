// SPDX-License-Identifier: MIT
#include "launch/init/job_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/init/templates.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

PictureFacts photos() {
  return {.source = "/data/my photos: \"best\".zip", .pictures = 5'000, .side = 200};
}

JobSpec job_of(const JobAdvice& advice, const PictureFacts& facts, const JobWishes& wishes) {
  return load_job({.file = "photos.yaml",
                   .text = job_text(advice, facts, wishes, "photos.yaml", "gangway init job"),
                   .overrides = {},
                   .environment = {}})
      .spec;
}

TEST(JobAdvice, WritesAJobThatIsOne) {
  const JobWishes wishes{.workers = 3};
  JobAdvice advice = advise(photos(), wishes);
  set_length(advice, wishes, 400.0);
  const JobSpec job = job_of(advice, photos(), wishes);
  EXPECT_EQ(job.data.source, "images:" + photos().source);
  EXPECT_EQ(job.model.resolution, 64);
  EXPECT_EQ(job.model.channels, 3);
  EXPECT_EQ(job.model.classes, 0);
  EXPECT_EQ(job.training.microbatches, 4);
  EXPECT_EQ(job.training.kimg, 610.0);
  EXPECT_EQ(job.training.augment.policy, AugmentPolicy::kAda);
}

TEST(JobAdvice, FollowsWhatThePicturesAre) {
  PictureFacts facts = photos();
  facts.is_gray = true;
  facts.side = 28;
  facts.pictures = 60'000;
  facts.by_label.assign(10, 6'000);
  const JobSpec job = job_of(advise(facts, {}), facts, {});
  EXPECT_EQ(job.model.channels, 1);
  EXPECT_EQ(job.model.resolution, 32);
  EXPECT_EQ(job.model.classes, 10);
  EXPECT_EQ(job.training.augment.policy, AugmentPolicy::kNone);
}

TEST(JobAdvice, LeavesLabelsOutThatHaveTooFewPicturesAndSaysSo) {
  PictureFacts facts = photos();
  facts.by_label = {4'990, 10};
  const JobAdvice advice = advise(facts, {});
  EXPECT_EQ(advice.classes, 0);
  EXPECT_THAT(advice.notes, ElementsAre(HasSubstr("the smallest has 10 pictures")));
}

TEST(JobAdvice, TakesTheWidthThatTheTimeAllows) {
  const JobAdvice advice = advise(photos(), {});
  const JobWishes half_an_hour{.minutes = 30.0};
  EXPECT_EQ(other_width(advice, half_an_hour, 400.0, 10.0), std::nullopt);
  EXPECT_EQ(other_width(advice, half_an_hour, 5'000.0, 10.0), 64);
  EXPECT_EQ(other_width(advice, half_an_hour, 20.0, 10.0), 16);
}

TEST(JobAdvice, TriesNoOtherWidthWhereATrialTakesMuchOfTheTime) {
  const JobAdvice advice = advise(photos(), {});
  EXPECT_EQ(other_width(advice, {.minutes = 1.0}, 20.0, 14.0), 16);
  EXPECT_EQ(other_width(advice, {.minutes = 1.0}, 20.0, 16.0), std::nullopt);
}

TEST(JobAdvice, SaysHowLongItWouldTakeWhereTheTimeIsShort) {
  const JobWishes wishes{.minutes = 1.0};
  JobAdvice advice = advise(photos(), wishes);
  EXPECT_THAT(advice.notes, IsEmpty());
  set_length(advice, wishes, 100.0);
  EXPECT_DOUBLE_EQ(advice.kimg, 5.1);
  EXPECT_THAT(advice.notes, ElementsAre(HasSubstr("after some 20 minutes")));
}

TEST(JobAdvice, CallsItsLengthAGuessWhereNoTrialWasMade) {
  const JobWishes wishes{.minutes = 1.0, .resolution = 32};
  EXPECT_THAT(guess_note(advise(photos(), wishes), wishes),
              AllOf(HasSubstr("training.kimg=160 is a guess"), HasSubstr("takes some 4 minutes"),
                    HasSubstr("whatever --minutes says (1)")));
}

TEST(JobAdvice, RefusesWhatItHasNoAdviceFor) {
  EXPECT_THAT([] { (void)advise(photos(), {.resolution = 256}); },
              ThrowsMessage<ConfigError>(HasSubstr("--recipe r3gan-ffhq256")));
  EXPECT_THAT([] { (void)advise(photos(), {.workers = 65}); },
              ThrowsMessage<ConfigError>(HasSubstr("--workers 65")));
}

TEST(PublishedRecipes, AreAllJobsOfOnesOwnPictures) {
  EXPECT_THAT(published_recipes(), SizeIs(17));
  for (const PublishedRecipe& recipe : published_recipes()) {
    const JobSpec job = load_job({.file = "job.yaml",
                                  .text = with_source(recipe.text, "/data/a b.zip"),
                                  .overrides = {},
                                  .environment = {}})
                            .spec;
    EXPECT_THAT(job.data.source, HasSubstr(":/data/a b.zip")) << recipe.name;
  }
}

}  // namespace
}  // namespace gangway::launch
