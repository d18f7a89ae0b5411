// SPDX-License-Identifier: MIT
#include "job/estimate/fit_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using testing::spec_of;

constexpr const char* kTransformer =
    "model: {family: gat, resolution: 32, patch: 4, width: 64, blocks: 4, latent: 64}\n"
    "data: {source: fashion-mnist}\n"
    "training: {batch: 128, microbatches: 2}\n";
constexpr const char* kDcgan =
    "model: {family: dcgan, resolution: 32, width: 64}\n"
    "data: {source: fashion-mnist}\n"
    "training: {batch: 4096, microbatches: 2}\n";
const std::string kOnGpu = "numerics: {device: cuda}\n";

/// Returns the keys that make the job fit, and its workers; "none" if none does.
std::vector<std::string> changes(const JobSpec& job, int workers, FitLimits limits) {
  const auto found = find_fitting(job, workers, limits);
  if (!found) {
    return {"none"};
  }
  EXPECT_LE(found->needed_bytes, limits.memory.bytes);
  EXPECT_EQ(found->needed_bytes, needed_bytes(found->job, found->workers, limits.memory));
  std::vector<std::string> keys = changed_keys(job, found->job);
  keys.push_back(std::to_string(found->workers));
  return keys;
}

std::int64_t needs(const JobSpec& job, int workers = 1, int gpus = 0) {
  return needed_bytes(job, workers, {.gpus = gpus});
}

JobSpec with(const std::string& text, std::vector<std::string> keys) {
  return spec_of(text, std::move(keys));
}

TEST(NeededBytes, AddsUpAHostsWorkersAndThoseThatShareAGpu) {
  const JobSpec host = spec_of(kDcgan);
  EXPECT_GT(needs(host, 2), needs(host, 1) * 3 / 2);
  const JobSpec gpu = spec_of(kDcgan + kOnGpu);
  EXPECT_EQ(needs(gpu, 2, 1), 2 * needs(gpu, 2, 2));
}

TEST(FindFitting, ChangesNothingThatFits) {
  const JobSpec job = spec_of(kDcgan);
  EXPECT_THAT(changes(job, 1, {.memory = {.bytes = needs(job)}}), ElementsAre("1"));
}

TEST(FindFitting, RecomputesActivationsBeforeItChangesNumbers) {
  const JobSpec job = spec_of(kTransformer);
  const FitLimits limits{.memory = {.bytes = needs(with(kTransformer, {"layout.recompute=true"}))},
                         .by = FitBy::kMicrobatches};
  EXPECT_LT(limits.memory.bytes, needs(job));
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("layout.recompute=true", "1"));
}

TEST(FindFitting, LeavesKeysThatTheJobGives) {
  const JobSpec job = spec_of(kTransformer);
  FitLimits limits{.memory = {.bytes = needs(with(kTransformer, {"training.microbatches=4"}))},
                   .given = {"layout.recompute"}};
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("none"));
  limits.by = FitBy::kMicrobatches;
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("training.microbatches=4", "1"));
}

TEST(FindFitting, DoublesMicrobatchesOnlyWhereAskedAndNoFurtherThanNeeded) {
  const JobSpec job = spec_of(kDcgan);
  FitLimits limits{.memory = {.bytes = needs(with(kDcgan, {"training.microbatches=8"}))}};
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("none"));
  limits.by = FitBy::kMicrobatches;
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("training.microbatches=8", "1"));
  limits.memory.bytes = 1 << 20;
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("none")) << "one image does not fit";
}

TEST(FindFitting, GivesUpRecordedStepsFirstOnAGpu) {
  const JobSpec job = spec_of(kDcgan + kOnGpu);
  FitLimits limits{
      .memory = {.bytes = needs(with(kDcgan + kOnGpu, {"numerics.cuda_graph=off"}), 1, 1),
                 .gpus = 1}};
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("numerics.cuda_graph=off", "1"));
  limits.given = {"numerics.cuda_graph"};
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("none"));
}

TEST(FindFitting, CutsNetworksWhereThereAreMoreGpus) {
  constexpr const char* kWide =
      "model: {family: dcgan, resolution: 32, width: 512}\n"
      "data: {source: fashion-mnist}\n"
      "training: {batch: 4, microbatches: 4}\nnumerics: {device: cuda, cuda_graph: off}\n";
  const JobSpec job = spec_of(kWide);
  FitLimits limits{.memory = {.bytes = needs(job, 2, 2) - 1, .gpus = 2}, .most_workers = 2};
  const auto found = find_fitting(job, 1, limits);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, 2);
  EXPECT_EQ(found->job.layout.stages, 2);
  EXPECT_EQ(found->job.training, job.training);
  limits.given = {"layout.stages"};
  EXPECT_THAT(changes(job, 1, limits), ElementsAre("none"));
}

}  // namespace
}  // namespace gangway
