// SPDX-License-Identifier: MIT
// training.augment: its keys, and their rules with other keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

AugmentationSpec augment_of(const std::string& text) {
  return spec_of("training: {augment: " + text + "}").training.augment;
}

TEST(AugmentKeys, AJobThatSaysNothingDoesNotAugment) {
  EXPECT_EQ(spec_of("").training.augment, AugmentationSpec{});
  EXPECT_FALSE(AugmentationSpec{}.is_any());
  EXPECT_FALSE(AugmentationSpec{}.is_adaptive());
}

TEST(AugmentKeys, AdaIsAdaptiveAndHasWhatTheAuthorsTrainWith) {
  const AugmentationSpec ada = augment_of("{policy: ada}");
  EXPECT_TRUE(ada.is_adaptive());
  EXPECT_EQ(ada.kinds(),
            (AugmentKinds{AugmentKind::kBlit, AugmentKind::kGeometry, AugmentKind::kColor}));
  EXPECT_EQ(ada.target, 0.6);
  EXPECT_EQ(ada.kimg, 500.0);
}

TEST(AugmentKeys, ReadsListsAndNumbers) {
  const AugmentationSpec ada = augment_of("{policy: ada, kinds: [cutout, blit], strength: 0.25}");
  EXPECT_EQ(ada.chosen, (AugmentKinds{AugmentKind::kBlit, AugmentKind::kCutout}));
  EXPECT_EQ(ada.strength, 0.25);
  EXPECT_FALSE(ada.is_adaptive());
  const AugmentationSpec other =
      augment_of("{policy: ada, strength: adaptive, target: 0.5, kimg: 100}");
  EXPECT_EQ(other.target, 0.5);
  EXPECT_EQ(other.kimg, 100.0);
  EXPECT_EQ(augment_of("{policy: diffaugment}").kinds(),
            (AugmentKinds{AugmentKind::kColor, AugmentKind::kTranslation, AugmentKind::kCutout}));
}

TEST(AugmentKeys, ReadsMultipliersByKind) {
  const AugmentationSpec ada = augment_of("{policy: ada, multipliers: {color: 0.5}}");
  EXPECT_EQ(ada.multiplier(AugmentKind::kColor), 0.5);
  EXPECT_EQ(ada.multiplier(AugmentKind::kBlit), 1.0);
  const auto complaint = [](const std::string& multipliers) {
    return problems_of("training: {augment: {policy: ada, multipliers: " + multipliers + "}}");
  };
  EXPECT_THAT(complaint("{colour: 0.5}"),
              Contains(AllOf(HasSubstr("training.augment.multipliers"),
                             HasSubstr("colour: no such kind"), HasSubstr("color"))));
  EXPECT_THAT(complaint("{color: -1}"), Contains(HasSubstr("color: -1 is out of range")));
  EXPECT_THAT(complaint("0.5"), Contains(HasSubstr("expected none or a map")));
  EXPECT_THAT(complaint("{cutout: 0.5}"),
              Contains(HasSubstr("cutout is not among training.augment.kinds")));
}

TEST(AugmentKeys, LookThroughTheAugmentationWithAPenaltyAlone) {
  EXPECT_EQ(spec_of("training: {r1: {gamma: 1}, augment: {policy: ada, penalties: original}}")
                .training.augment.penalised,
            PenalisedPictures::kOriginal);
  EXPECT_THAT(
      problems_of("training: {augment: {policy: ada, penalties: original}}"),
      Contains(AllOf(HasSubstr("training.augment.penalties"), HasSubstr("training.r1.gamma"))));
}

TEST(AugmentKeys, AreWrittenSoThatTheyReadTheSame) {
  for (const char* text : {"{policy: ada}", "{policy: ada, kinds: [noise, filter]}",
                           "{policy: ada, strength: 0.5}", "{policy: diffaugment, kinds: [color]}",
                           "{policy: ada, interval: 4, multipliers: {color: 0.5, blit: 0}}"}) {
    const ResolvedJob job =
        load_job(testing::sources_of("training: {augment: " + std::string(text) + "}"));
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << text;
  }
}

TEST(AugmentKeys, CountInTheFingerprintWhereTheySaySomething) {
  const auto fingerprint = [](const std::string& text) {
    return job_fingerprint(spec_of("training: {augment: " + text + "}"));
  };
  const std::string ada = fingerprint("{policy: ada}");
  EXPECT_EQ(fingerprint("{policy: none}"), job_fingerprint(spec_of("")));
  EXPECT_NE(ada, job_fingerprint(spec_of("")));
  EXPECT_EQ(fingerprint("{policy: ada, kinds: auto, strength: adaptive}"), ada);
  EXPECT_EQ(fingerprint("{policy: ada, kinds: [noise, blit]}"),
            fingerprint("{policy: ada, kinds: [blit, noise]}"));
  for (const char* other :
       {"{policy: diffaugment}", "{policy: ada, kinds: [blit]}", "{policy: ada, strength: 0.5}",
        "{policy: ada, target: 0.5}", "{policy: ada, kimg: 100}"}) {
    EXPECT_NE(fingerprint(other), ada) << other;
  }
}

TEST(AugmentKeys, AStrengthThatIsANumberMayHaveASchedule) {
  const AugmentationSpec rising =
      augment_of("{policy: ada, strength: 0, schedule: {decay: cosine, final: 0.3}}");
  EXPECT_EQ(rising.schedule.decay, DecayKind::kCosine);
  EXPECT_EQ(rising.schedule.final_value, 0.3);
  EXPECT_THAT(problems_of("training: {augment: {policy: ada, schedule: {decay: cosine}}}"),
              Contains(HasSubstr("training.augment.strength as a number")));
  EXPECT_THAT(problems_of("training: {augment: {policy: ada, strength: 0, schedule: {decay: "
                          "exponential, final: 0.3}}}"),
              Contains(HasSubstr("use linear")));
}

TEST(AugmentKeys, HaveNoMeaningWithoutAPolicy) {
  EXPECT_THAT(problems_of("training: {augment: {kinds: [blit]}}"),
              ElementsAre("job.yaml:1:22: training.augment.kinds: has a meaning with "
                          "training.augment.policy ada or diffaugment alone; leave it out"));
  EXPECT_THAT(problems_of("training: {augment: {policy: diffaugment, strength: 0.5}}"),
              ElementsAre("job.yaml:1:43: training.augment.strength: has a meaning with "
                          "training.augment.policy ada alone; leave it out"));
  EXPECT_THAT(problems_of("training: {augment: {policy: ada, strength: 0.5, target: 0.5}}"),
              ElementsAre("job.yaml:1:50: training.augment.target: has a meaning with "
                          "training.augment.strength adaptive alone; leave it out"));
}

TEST(AugmentKeys, AreForPicturesAndARecipeThatAugments) {
  EXPECT_THAT(problems_of("model: {family: mlp}\ndata: {source: 'toy:ring8'}\n"
                          "training: {augment: {policy: ada}}"),
              ElementsAre("job.yaml:3:22: training.augment.policy: has no meaning for family mlp, "
                          "which makes points; leave it out"));
  EXPECT_THAT(problems_of("training: {recipe: vae, augment: {policy: ada}}"),
              ElementsAre("job.yaml:1:35: training.augment.policy: has no meaning for "
                          "training.recipe vae (it has for adversarial); leave it out"));
}

TEST(AugmentKeys, NameWhatIsWrongWithAList) {
  EXPECT_THAT(problems_of("training: {augment: {policy: ada, kinds: [blits]}}"),
              ElementsAre("job.yaml:1:35: training.augment.kinds: expected blit, geometry, color, "
                          "filter, noise, cutout, translation, not 'blits'; did you mean 'blit'?"));
  EXPECT_EQ(problems_of("training: {augment: {policy: ada, kinds: []}}").size(), 1U);
  EXPECT_EQ(problems_of("training: {augment: {policy: ada, kinds: blit}}").size(), 1U);
  EXPECT_EQ(problems_of("training: {augment: {policy: ada, strength: 1.5}}").size(), 1U);
  EXPECT_EQ(problems_of("training: {augment: {policy: ada, strength: often}}").size(), 1U);
}

TEST(AugmentKeys, KindsAreThoseOfThePolicy) {
  EXPECT_THAT(problems_of("training: {augment: {policy: diffaugment, kinds: [blit]}}"),
              ElementsAre("job.yaml:1:43: training.augment.kinds: policy diffaugment has color, "
                          "cutout, translation; use some of these"));
  EXPECT_EQ(problems_of("training: {augment: {policy: ada, kinds: [translation]}}").size(), 1U);
}

TEST(AugmentKeys, AnAdaptiveStrengthGoesBySignsThatSaySomething) {
  EXPECT_THAT(problems_of("training: {loss: least-squares, augment: {policy: ada}}"),
              ElementsAre(::testing::EndsWith(
                  "an adaptive strength follows the sign of logits, which has no meaning with loss "
                  "least-squares; use nonsaturating or hinge, or a number as the strength")));
  EXPECT_THAT(problems_of("training: {loss: hinge, augment: {policy: ada}}"), ElementsAre());
  EXPECT_THAT(problems_of("training: {loss: least-squares, augment: {policy: ada, strength: 1}}"),
              ElementsAre());
  EXPECT_THAT(problems_of("training: {loss: least-squares, augment: {policy: diffaugment}}"),
              ElementsAre());
}

TEST(AugmentKeys, PicturesOfSeveralDepthsAreNotAugmented) {
  EXPECT_EQ(problems_of("model: {family: gat}\ntraining: {augment: {policy: diffaugment}}").size(),
            1U);
}

}  // namespace
}  // namespace gangway
