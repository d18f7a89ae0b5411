// SPDX-License-Identifier: MIT
// Keys of the average of a network's weights: ema_kimg, its schedule, ramp and start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

NetworkSpec generator_of(const std::string& text) {
  return spec_of("generator: " + text).network("generator");
}

TEST(AverageKeys, BoundTheHalfLifeByHistoryByAShareOrNotAtAll) {
  EXPECT_EQ(generator_of("{ema_kimg: 5}").ema_rampup.kind, RampUp::Kind::kHistory);
  EXPECT_EQ(generator_of("{ema_rampup: none}").ema_rampup.kind, RampUp::Kind::kNone);
  const RampUp share = generator_of("{ema_rampup: 0.05}").ema_rampup;
  EXPECT_EQ(share.kind, RampUp::Kind::kShare);
  EXPECT_EQ(share.share, 0.05);
  EXPECT_THAT(problems_of("generator: {ema_rampup: slow}"),
              Contains(AllOf(HasSubstr("generator.ema_rampup"), HasSubstr("or auto or none"))));
}

TEST(AverageKeys, KeepAnAverageWhoseHalfLifeRisesFromNothing) {
  const NetworkSpec risen =
      generator_of("{ema_kimg: 0, schedule: {ema: {decay: cosine, final: 5}}}");
  EXPECT_TRUE(risen.is_averaged());
  EXPECT_FALSE(generator_of("{ema_kimg: 0}").is_averaged());
  EXPECT_THAT(problems_of("generator: {ema_kimg: 0, ema_rampup: none}"),
              Contains(HasSubstr("has a meaning with an average alone")));
  EXPECT_THAT(problems_of("generator: {ema_kimg: 0, schedule: {ema: {warmup_kimg: 5}}}"),
              Contains(HasSubstr("generator.schedule.ema")));
}

TEST(AverageKeys, AreWrittenSoThatTheyReadTheSameAndCountWhereTheySaySomething) {
  const std::string usual = job_fingerprint(spec_of(""));
  for (const char* text : {"{ema_rampup: none}", "{ema_rampup: 0.05}", "{ema_start_kimg: 2}",
                           "{ema_kimg: 0, schedule: {ema: {decay: cosine, final: 5}}}"}) {
    const ResolvedJob job = load_job(testing::sources_of("generator: " + std::string(text)));
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << text;
    EXPECT_NE(job_fingerprint(job.spec), usual) << text;
  }
  EXPECT_EQ(job_fingerprint(spec_of("generator: {ema_rampup: auto, ema_start_kimg: 0}")), usual);
}

}  // namespace
}  // namespace gangway
