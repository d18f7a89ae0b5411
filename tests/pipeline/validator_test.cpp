// SPDX-License-Identifier: MIT
// That lists which generators make are sound, and that each rule finds what breaks it.
#include "pipeline/validator/validator.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/gan_profile.hpp"
#include "tests/pipeline/stage_cases.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Validator, FindsNothingInWhatGeneratorsMake) {
  for (const StageCase& test : stage_cases()) {
    const Staged staged(test);
    EXPECT_THAT(staged.validator().violations(staged.schedule), IsEmpty()) << test.name;
  }
}

}  // namespace
}  // namespace gangway::pipeline
