// SPDX-License-Identifier: MIT
// Keys and rules of schedules in job files.
#include "job/keys/schedule_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "job/schema/key.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

constexpr const char* kSchedule = "generator.schedule.";

/// Returns the only complaint about `words`, settings of the command line.
std::string complaint_about(const std::vector<std::string>& words) {
  const std::vector<std::string> problems = problems_of("", words);
  return problems.size() == 1 ? problems.front() : std::to_string(problems.size()) + " complaints";
}

std::string schedule_with(const std::string& word) { return kSchedule + word; }

TEST(ScheduleKeys, MakeTheLearningRatesSchedule) {
  const JobSpec job = spec_of(
      "generator: {schedule: {warmup_kimg: 2, warmup_from: 0.1, decay: onecycle, start_kimg: 1, "
      "end_kimg: 30, final_factor: 0.5, initial_factor: 0.25, peak: 0.4, anneal: linear}}\n"
      "discriminator: {schedule: {decay: cosine, final_factor: 2, cycles: 3}}");
  EXPECT_EQ(job.network("generator").schedule, (ScheduleSpec{.warmup_kimg = 2.0,
                                                             .warmup_from = 0.1,
                                                             .decay = DecayKind::kOneCycle,
                                                             .start_kimg = 1.0,
                                                             .end_kimg = 30.0,
                                                             .final_value = 0.5,
                                                             .initial_value = 0.25,
                                                             .peak = 0.4,
                                                             .anneal = Anneal::kLinear}));
  EXPECT_EQ(job.network("discriminator").schedule,
            (ScheduleSpec{.decay = DecayKind::kCosine, .final_value = 2.0, .cycles = 3}));
}

TEST(ScheduleKeys, MakeSchedulesOfWhateverElseChanges) {
  const JobSpec job = spec_of(
      "generator: {schedule: {beta1: {decay: cosine, final: 0.0}, beta2: {decay: linear, final: "
      "0.9, end_kimg: 4}, ema: {warmup_kimg: 200}}}\n"
      "training: {r1: {gamma: 1, schedule: {decay: step, milestones: [10, 20], step_factor: 0.5}}, "
      "gradient_penalty: 1, gradient_penalty_schedule: {decay: exponential, final_factor: 10}}");
  const NetworkSpec& generator = job.network("generator");
  EXPECT_EQ(generator.beta1_schedule.decay, DecayKind::kCosine);
  EXPECT_EQ(generator.beta1_schedule.final_value, 0.0);
  EXPECT_EQ(generator.beta2_schedule.end_kimg, 4.0);
  EXPECT_EQ(generator.ema_schedule, ScheduleSpec{.warmup_kimg = 200.0});
  EXPECT_THAT(job.training.penalty.gamma_course().milestones, ElementsAre(10.0, 20.0));
  EXPECT_EQ(job.training.penalty.gradient_schedule.final_value, 10.0);
}

TEST(ScheduleKeys, PrintTheWordsThatSaySomething) {
  EXPECT_EQ(schedule_text({}, ScheduleOf::kValue), "none");
  EXPECT_EQ(
      schedule_text({.decay = DecayKind::kStep, .milestones = {1.0, 2.5}}, ScheduleOf::kFactor),
      "{warmup_kimg: 0, decay: step, step_kimg: 0, step_factor: 0.1, milestones: [1, 2.5]}");
  EXPECT_EQ(schedule_text({.warmup_kimg = 3.0}, ScheduleOf::kValue),
            "{warmup_kimg: 3, warmup_from: 0, decay: none}");
}

TEST(ScheduleKeys, TakeAMapThatSaysNothingForNone) {
  EXPECT_EQ(spec_of("", {schedule_with("beta1={decay: none}")}), spec_of(""));
  EXPECT_EQ(spec_of("", {schedule_with("beta1={}")}), spec_of(""));
  EXPECT_EQ(spec_of("", {schedule_with("beta1=none")}), spec_of(""));
}

TEST(ScheduleKeys, RefuseAWordThatThereIsNot) {
  EXPECT_EQ(complaint_about({schedule_with("beta1={decay: cosine, finl: 0}")}),
            "command line: generator.schedule.beta1={decay: cosine, finl: 0}: finl: no such word; "
            "did you mean 'final'?");
  EXPECT_THAT(complaint_about({schedule_with("beta1={decay: cosin}")}),
              HasSubstr("decay: expected none, linear, cosine, step, exponential, onecycle, not "
                        "'cosin'; did you mean 'cosine'?"));
  EXPECT_THAT(complaint_about({schedule_with("beta1=cosine")}),
              HasSubstr("expected none, or a map such as {decay: cosine, final: 0.5}, not "
                        "'cosine'"));
}

TEST(ScheduleKeys, RefuseWhatSaysNothing) {
  EXPECT_THAT(complaint_about({schedule_with("beta1={decay: cosine, step_kimg: 3}")}),
              HasSubstr("step_kimg: has a meaning with decay step alone; leave it out"));
  EXPECT_THAT(complaint_about({schedule_with("ema={warmup_from: 0.5}")}),
              HasSubstr("warmup_from: has a meaning with warmup_kimg above 0 alone"));
  EXPECT_THAT(complaint_about({schedule_with("cycles=3")}),
              HasSubstr("has a meaning with decay cosine alone; leave it out"));
  EXPECT_THAT(
      complaint_about({schedule_with("ema={warmup_kimg: 5}"), "generator.ema_kimg=0"}),
      HasSubstr("has a meaning with ema_kimg above 0, or with a final value above 0, alone"));
  EXPECT_THAT(complaint_about({"training.recipe=vae", "training.r1.schedule={warmup_kimg: 3}"}),
              HasSubstr("has no meaning for training.recipe vae"));
}

TEST(ScheduleKeys, RefuseNumbersOutOfRange) {
  EXPECT_THAT(complaint_about({schedule_with("beta1={decay: cosine, final: 1}")}),
              HasSubstr("final: 1 is out of range; allowed: 0 to below 1"));
  EXPECT_THAT(complaint_about({schedule_with("decay=step"), schedule_with("milestones=[3, 2]")}),
              HasSubstr("expected a list that rises; 2 follows 3"));
  EXPECT_THAT(complaint_about({schedule_with("decay=onecycle"), schedule_with("peak=1")}),
              HasSubstr("1 is out of range; allowed: above 0 to below 1"));
}

TEST(ScheduleRules, WantWhatADecayNeeds) {
  EXPECT_EQ(complaint_about({schedule_with("decay=exponential")}),
            "command line: generator.schedule.decay=exponential: decay exponential never comes to "
            "0; give generator.schedule.final_factor above 0");
  EXPECT_THAT(complaint_about({schedule_with("beta1={decay: exponential, final: 0.9}"),
                               "generator.optimizer.adam.betas=[0, 0.9]"}),
              HasSubstr("what generator.schedule.beta1 begins with is 0; use linear"));
  EXPECT_THAT(complaint_about({"training.r1.gamma=1", "training.r1.schedule={decay: step}"}),
              HasSubstr("decay step needs training.r1.schedule.step_kimg above 0, or milestones"));
  EXPECT_THAT(complaint_about({schedule_with("decay=step"), schedule_with("step_kimg=3"),
                               schedule_with("milestones=[1]")}),
              HasSubstr("generator.schedule has step_kimg and milestones; keep one of them"));
}

TEST(ScheduleRules, BlameTheScheduleAndNotTheLengthWhereADecayNeedsSomething) {
  EXPECT_THAT(problems_of("generator: {schedule: {decay: step}}", {"training.kimg=3"}),
              ElementsAre("job.yaml:1:24: generator.schedule.decay: decay step needs "
                          "generator.schedule.step_kimg above 0, or milestones"));
}

TEST(ScheduleRules, WantAStartBeforeTheEnd) {
  const std::vector<std::string> late{schedule_with("decay=linear"),
                                      schedule_with("start_kimg=40")};
  EXPECT_THAT(complaint_about(late),
              HasSubstr("generator.schedule.start_kimg 40 is not before its end, 40; begin "
                        "earlier, or give end_kimg"));
  EXPECT_THAT(problems_of("", {late[0], late[1], "training.kimg=41"}), ElementsAre());
  EXPECT_THAT(problems_of("", {late[0], late[1], schedule_with("end_kimg=41")}), ElementsAre());
}

TEST(ScheduleRules, WantOneWayToSayIt) {
  EXPECT_THAT(
      complaint_about({schedule_with("final_beta2=0.9"), schedule_with("beta2={warmup_kimg: 3}")}),
      HasSubstr("generator.schedule.final_beta2 is given as well; keep one of them"));
  EXPECT_THAT(complaint_about({"training.r1.gamma=1", "training.r1.final_factor=0.5",
                               "training.r1.schedule={warmup_kimg: 3}"}),
              HasSubstr("training.r1.final_factor is given as well; keep one of them"));
}

std::string fingerprint_of(const std::vector<std::string>& words) {
  return job_fingerprint(spec_of("", words));
}

/// Jobs of releases whose only schedules were the learning rate's warm-up, cosine and steps, and
/// final values of gammas and of the second moment's decay.
TEST(ScheduleKeys, LeaveTheFingerprintsOfEarlierReleases) {
  EXPECT_EQ(fingerprint_of({schedule_with("decay=cosine"), schedule_with("warmup_kimg=2"),
                            schedule_with("final_factor=0.25")}),
            "9801184f69b6376a4e27f99902510dcf");
  EXPECT_EQ(
      fingerprint_of({"discriminator.schedule.decay=step", "discriminator.schedule.step_kimg=5",
                      "discriminator.schedule.step_factor=0.5"}),
      "16fcf040b7f852c05dcdd1225eb1db23");
  EXPECT_EQ(fingerprint_of({"training.r1.gamma=1", "training.r1.final_factor=0.1",
                            schedule_with("final_beta2=0.99"), "training.burn_in_kimg=7"}),
            "21cda12914a043b4ccdbac0ceb1838fc");
}

TEST(ScheduleKeys, DoNotCountWhileTheySayNothing) {
  const std::string usual = fingerprint_of({});
  for (const char* none : {"generator.schedule.beta1=none", "generator.schedule.beta2=none",
                           "generator.schedule.ema=none", "training.r1.schedule=none",
                           "training.gradient_penalty_schedule=none"}) {
    EXPECT_EQ(fingerprint_of({none}), usual) << none;
  }
  const std::string cosine = schedule_with("decay=cosine");
  for (const char* said : {"start_kimg=0", "end_kimg=0", "cycles=1"}) {
    EXPECT_EQ(fingerprint_of({cosine, schedule_with(said)}), fingerprint_of({cosine})) << said;
  }
}

TEST(ScheduleKeys, AreCountedWhereTheySaySomething) {
  const std::vector<std::string> penalised{"training.r1.gamma=1", "training.gradient_penalty=1"};
  const std::string usual = fingerprint_of(penalised);
  for (const char* said :
       {"generator.schedule.beta1={warmup_kimg: 3}", "generator.schedule.beta2={warmup_kimg: 3}",
        "generator.schedule.ema={warmup_kimg: 3}", "training.r1.schedule={warmup_kimg: 3}",
        "training.gradient_penalty_schedule={warmup_kimg: 3}"}) {
    EXPECT_NE(fingerprint_of({penalised[0], penalised[1], said}), usual) << said;
  }
}

TEST(ScheduleKeys, CountTheLengthWhereTheyEndAtIt) {
  for (const char* map :
       {"generator.schedule.beta1", "generator.schedule.beta2", "generator.schedule.ema"}) {
    const std::string ends = std::string(map) + "={decay: linear, final: 0.5}";
    const std::string stays = std::string(map) + "={decay: linear, final: 0.5, end_kimg: 7}";
    EXPECT_NE(fingerprint_of({ends}), fingerprint_of({ends, "training.kimg=99"})) << map;
    EXPECT_EQ(fingerprint_of({stays}), fingerprint_of({stays, "training.kimg=99"})) << map;
  }
  for (const char* map : {"training.r1.schedule", "training.gradient_penalty_schedule"}) {
    const std::string ends = std::string(map) + "={decay: linear, final_factor: 0.5}";
    const std::vector<std::string> words{"training.r1.gamma=1", "training.gradient_penalty=1",
                                         ends};
    EXPECT_NE(fingerprint_of(words),
              fingerprint_of({words[0], words[1], words[2], "training.kimg=99"}))
        << map;
  }
  for (const char* decay : {"linear", "exponential", "onecycle"}) {
    const std::vector<std::string> ends{schedule_with("decay=") + decay,
                                        schedule_with("final_factor=0.5")};
    EXPECT_NE(fingerprint_of(ends), fingerprint_of({ends[0], ends[1], "training.kimg=99"}))
        << decay;
  }
}

}  // namespace
}  // namespace gangway
