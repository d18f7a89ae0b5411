// SPDX-License-Identifier: MIT
#include "job/optimizers.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Optimizers, EachHasANameAndMomentsOfItsOwn) {
  std::set<std::string_view> names;
  for (const OptimizerRow& row : kOptimizers) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of(row.kind), &row);
    EXPECT_LE(num_moments(row.kind), kMaxMoments);
    const std::set<std::string_view> moments(row.moments.begin(), row.moments.end());
    EXPECT_EQ(moments.size(), row.moments.size()) << row.name;
    EXPECT_FALSE(moments.contains("updates")) << row.name << ": the count's name in checkpoints";
  }
}

TEST(Optimizers, KeepTheNamesThatCheckpointsHave) {
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    ASSERT_EQ(num_moments(kind), 2U);
    EXPECT_EQ(row_of(kind).moments[0], "first_moment");
    EXPECT_EQ(row_of(kind).moments[1], "second_moment");
  }
}

TEST(Optimizers, BeginAsTheirOwnKind) {
  for (const OptimizerRow& row : kOptimizers) {
    EXPECT_EQ(row.defaults.kind, row.kind) << row.name;
  }
  EXPECT_EQ(row_of(OptimizerKind::kLion).defaults.betas, (std::array{0.9, 0.99}));
  EXPECT_EQ(row_of(OptimizerKind::kSgd).defaults, (OptimizerSpec{.kind = OptimizerKind::kSgd}));
}

TEST(Optimizers, GiveTheirNumbersAsFieldsOfTheSpec) {
  OptimizerSpec spec;
  for (const OptimizerNumber& number : row_of(OptimizerKind::kAdam).numbers) {
    for (double& value : number.values(spec)) {
      value = 0.25;
    }
  }
  EXPECT_EQ(spec, (OptimizerSpec{.betas = {0.25, 0.25}, .eps = 0.25, .weight_decay = 0.25}));
}

TEST(Optimizers, RefuseAKindThatHasNoRow) {
  EXPECT_THROW((void)row_of(static_cast<OptimizerKind>(99)), std::logic_error);
}

}  // namespace
}  // namespace gangway
