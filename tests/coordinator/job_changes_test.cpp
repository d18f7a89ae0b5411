// SPDX-License-Identifier: MIT
#include "coordinator/job_changes.hpp"

#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

TEST(JobChanges, NamesWhatCanChangeAWeightWithBothValues) {
  EXPECT_EQ(job_changes("training: {batch: 64, kimg: 1}\ngenerator: {adam: {betas: [0, 0.9]}}\n",
                        "training: {batch: 128, kimg: 2}\ngenerator: {adam: {betas: [0.5, 0.9]}}\n"),
            "training.batch 128, was 64; generator.adam.betas [0.5, 0.9], was [0, 0.9]");
}

TEST(JobChanges, NamesWhatOnlyOneHas) {
  EXPECT_EQ(job_changes("a: 1\nb: 2\n", "b: 2\nc: 3\n"), "c 3, was not there; a is gone, was 1");
}

TEST(JobChanges, SaysNothingOfTheLayoutAndOfNothing) {
  EXPECT_EQ(job_changes("layout: {data: 1}\ncheckpoint: {keep: 3}\na: 1\n",
                        "layout: {data: 2}\ncheckpoint: {keep: 4}\na: 1\n"),
            "");
}

TEST(JobChanges, IsOneLineHoweverManyThereAre) {
  EXPECT_EQ(job_changes("a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n",
                        "a: 2\nb: 2\nc: 2\nd: 2\ne: 2\nf: 2\ng: 2\n"),
            "a 2, was 1; b 2, was 1; c 2, was 1; d 2, was 1; e 2, was 1; and 2 more");
}

}  // namespace
}  // namespace gangway::coordinator
