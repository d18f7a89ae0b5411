// SPDX-License-Identifier: MIT
#include "worker/state/image_pools.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/named_rows.hpp"
#include "worker/state/owned_state.hpp"

namespace gangway::worker {
namespace {

JobSpec job_with_pools(int size) {
  JobSpec job = fidelity::small_translation(*recipe_named("cyclegan"), family_named("cyclegan"));
  job.training.translation.pool = size;
  return job;
}

ImagePools pools_of(const JobSpec& job, const std::vector<MicrobatchRange>& ranges, int worker) {
  return ImagePools(
      {.job = job, .names = {"fake_b", "fake_a"}, .ranges = ranges, .worker = worker});
}

/// Returns images with the constant shades `shade`, `shade` + 1, …
at::Tensor images_from(int shade, int count = 4) {
  return at::arange(shade, shade + count, at::kFloat)
      .reshape({count, 1, 1, 1})
      .expand({count, 1, 32, 32});
}

std::vector<float> shades_in(const at::Tensor& images) {
  std::vector<float> shades;
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    shades.push_back(images[i].max().item<float>());
  }
  return shades;
}

TEST(ImagePools, ShowWhatTheyAreGivenWhileThereIsRoom) {
  const JobSpec job = job_with_pools(8);
  ImagePools pools = pools_of(job, {{0, 4}}, 0);
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(pools.exchange("fake_b", images_from(10 * step), {.step = step})
                    .equal(images_from(10 * step)));
  }
  pools.store(2);
  const at::Tensor kept =
      NetworkState::view(pools.state().weights().data(), pools.state().places().front());
  EXPECT_EQ(shades_in(kept), (std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13}));
}

TEST(ImagePools, ThenExchangeAboutHalfAndLoseNothing) {
  const JobSpec job = job_with_pools(4);
  ImagePools pools = pools_of(job, {{0, 4}}, 0);
  std::map<float, int> shown;
  int given = 0;
  int old = 0;
  for (int step = 0; step < 100; ++step) {
    const at::Tensor images = images_from(4 * step + 1);
    const at::Tensor out = pools.exchange("fake_a", images, {.step = step, .microbatch = 2});
    for (const float shade : shades_in(out)) {
      ++shown[shade];
      old += shade < static_cast<float>(4 * step + 1) ? 1 : 0;
    }
    given += 4;
  }
  EXPECT_GT(old, given / 3);
  EXPECT_LT(old, 2 * given / 3);
  for (const auto& [shade, times] : shown) {
    EXPECT_LE(times, 2) << shade;  // at its creation, and when the pool gives it back
  }
}

TEST(ImagePools, DependOnTheMicrobatchNotOnWhoHasIt) {
  const JobSpec job = job_with_pools(3);
  ImagePools all = pools_of(job, {{0, 4}}, 0);
  ImagePools some = pools_of(job, {{0, 1}, {1, 4}}, 1);
  for (int step = 0; step < 5; ++step) {
    for (int microbatch = 1; microbatch < 4; ++microbatch) {
      const at::Tensor images = images_from(100 * microbatch + 4 * step);
      const RandomKey key{.seed = 3, .step = step, .microbatch = microbatch};
      EXPECT_TRUE(all.exchange("fake_b", images, key).equal(some.exchange("fake_b", images, key)));
    }
  }
}

TEST(ImagePools, AreOwnedByTheWorkerOfTheirMicrobatch) {
  const JobSpec job = job_with_pools(3);
  const std::vector<MicrobatchRange> ranges{{0, 1}, {1, 4}};
  ImagePools pools = pools_of(job, ranges, 1);
  NetworkState* state = &pools.state();
  const auto names = [&](int worker) {
    std::vector<std::string> found;
    for (const OwnedPiece& piece : owned_pieces({&state, 1}, worker)) {
      EXPECT_EQ(piece.stored.end - piece.stored.begin, 3U * 32 * 32);
      found.push_back(piece.stored.name);
    }
    return found;
  };
  EXPECT_THAT(names(0), ::testing::ElementsAre("image_pools/0/fake_b", "image_pools/0/fake_a"));
  EXPECT_EQ(names(1).size(), 6U);
  EXPECT_TRUE(pools.state().moments().empty());
}

TEST(ImagePools, TakeUpWhatTheyHaveStored) {
  const JobSpec job = job_with_pools(4);
  ImagePools pools = pools_of(job, {{0, 4}}, 0);
  ImagePools later = pools_of(job, {{0, 4}}, 0);
  (void)pools.exchange("fake_b", images_from(1), {});
  pools.store(1);
  std::ranges::copy(std::span(pools.state().weights().data(), pools.state().layout().size()),
                    later.state().weights().data());
  later.take_up();
  EXPECT_TRUE(pools.exchange("fake_b", images_from(9), {.step = 1})
                  .equal(later.exchange("fake_b", images_from(9), {.step = 1})));
}

}  // namespace
}  // namespace gangway::worker
