// SPDX-License-Identifier: MIT
#include "launch/tune/edited_job.hpp"

#include <gtest/gtest.h>

namespace gangway::launch {
namespace {

TEST(EditedJob, PutsAValueInThePlaceOfAnother) {
  EXPECT_EQ(edited_job("layout:\n  overlap: none  # why\n  data: 2\n", {"layout.overlap=across"}),
            "layout:\n  overlap: across  # why\n  data: 2\n");
  EXPECT_EQ(edited_job("layout: {overlap: none, shares: [1, 2]}\n",
                       {"layout.overlap=within", "layout.shares=auto"}),
            "layout: {overlap: within, shares: auto}\n");
}

TEST(EditedJob, PutsAKeyBesideThoseOfItsSection) {
  EXPECT_EQ(edited_job("# mine\nlayout:\n    data: 2\ntraining: {kimg: 1}\n",
                       {"layout.buckets=4", "training.microbatches=2"}),
            "# mine\nlayout:\n    buckets: 4\n    data: 2\n"
            "training: {microbatches: 2, kimg: 1}\n");
  EXPECT_EQ(edited_job("layout: {}\n", {"layout.cuts.generator=[2]"}),
            "layout: {cuts: {generator: [2]}}\n");
}

TEST(EditedJob, MakesASectionThatIsMissing) {
  EXPECT_EQ(edited_job("training: {kimg: 1}", {"layout.cuts.generator=[2]", "layout.data=2"}),
            "training: {kimg: 1}\nlayout:\n  data: 2\n  cuts:\n    generator: [2]\n");
}

TEST(EditedJob, MakesASectionOfAWord) {
  EXPECT_EQ(edited_job("layout: auto\n", {"layout.data=2"}), "layout: {data: 2}\n");
}

}  // namespace
}  // namespace gangway::launch
