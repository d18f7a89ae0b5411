// SPDX-License-Identifier: MIT
#include "data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "data/augment/augment.hpp"

namespace gangway::data {
namespace {

using namespace std::chrono_literals;

/// Example i is [4 i, 4 i + 1; 4 i + 2, 4 i + 3] with label i; `bad` cannot be read.
class NumberedDataset : public Dataset {
 public:
  explicit NumberedDataset(std::int64_t bad = -1) : bad_(bad) {}
  [[nodiscard]] std::int64_t size() const override { return 100; }
  [[nodiscard]] ExampleShape shape() const override {
    return {.channels = 1, .height = 2, .width = 2};
  }
  [[nodiscard]] int num_classes() const override { return 100; }
  int read(std::int64_t index, std::span<float> out) const override {
    if (index == bad_) {
      throw ConfigError("bad.png: damaged; remove it");
    }
    std::iota(out.begin(), out.end(), static_cast<float>(4 * index));
    ++reads;
    return static_cast<int>(index);
  }
  [[nodiscard]] std::string fingerprint() const override { return std::string(32, '0'); }

  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t bad_;
};

/// `count` micro-batches of 8; without a count, endless.
RequestSource counting(std::optional<int> count = std::nullopt) {
  return [count, next = std::int64_t{0}]() mutable -> std::optional<BatchRequest> {
    if (count && next >= *count) {
      return std::nullopt;
    }
    const BatchRequest request{.step = next / 2,
                               .microbatch = static_cast<int>(next % 2),
                               .first_sample = 8 * next,
                               .count = 8};
    ++next;
    return request;
  };
}

std::vector<Batch> collect(const LoaderOptions& options, int count) {
  const NumberedDataset dataset;
  Loader loader(dataset, SampleOrder(11, dataset.size()), options, counting());
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i) {
    batches.push_back(loader.next());
  }
  return batches;
}

/// Records the expected examples, and those of them that were read later.
class ExpectingDataset : public NumberedDataset {
 public:
  void expect(std::int64_t index) const override { expected.push_back(index); }
  int read(std::int64_t index, std::span<float> out) const override {
    came_expected += static_cast<int>(std::ranges::count(expected, index));
    return NumberedDataset::read(index, out);
  }
  mutable std::vector<std::int64_t> expected = {};
  mutable int came_expected = 0;
};

TEST(Loader, TellsWhichExamplesOfABatchAreToComeBeforeItReadsThem) {
  const ExpectingDataset dataset;
  Batch batch;
  read_batch(dataset, SampleOrder(11, 100), {}, {.first_sample = 16, .count = 8}, batch);
  EXPECT_EQ(dataset.expected,
            std::vector<std::int64_t>(batch.labels.begin() + 1, batch.labels.end()));
  EXPECT_EQ(dataset.came_expected, 7);
}

TEST(Loader, CountsWhatItsThreadsDo) {
  const NumberedDataset dataset;
  Loader loader(dataset, SampleOrder(11, 100), {.prefetch = 2, .threads = 2}, counting(6));
  for (int i = 0; i < 6; ++i) {
    (void)loader.next();
  }
  const LoaderTimes times = loader.times();
  EXPECT_EQ(times.images, 48);
  EXPECT_EQ(times.asked, 6);
  EXPECT_LE(times.ready, 12);
  EXPECT_GT(times.read, 0.0);
  EXPECT_GT(times.augment, 0.0);
  EXPECT_GT(times.no_room, 0.0);
  EXPECT_EQ(times.decode + times.fit + times.pack, 0.0);
}

TEST(Loader, HandsOutTheRequestsInOrder) {
  const std::vector<Batch> batches = collect({}, 20);
  const SampleOrder order(11, 100);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].request.first_sample, static_cast<std::int64_t>(8 * i));
    ASSERT_EQ(batches[i].labels.size(), 8U);
    for (std::size_t k = 0; k < 8; ++k) {
      const std::int64_t index = order.dataset_index(static_cast<std::int64_t>(8 * i + k));
      EXPECT_EQ(batches[i].labels[k], index);
      EXPECT_EQ(batches[i].images[4 * k + 1], static_cast<float>(4 * index + 1));
    }
  }
}

TEST(Loader, GivesTheSameBatchesForAnyThreadsAndDepth) {
  const AugmentSpec augment{.crop = 0.8, .rotation = 20.0, .brightness = 0.1, .contrast = 0.1};
  const std::vector<Batch> expected =
      collect({.mirror = Mirror::kKeyed, .augment = augment, .prefetch = 1, .threads = 1}, 40);
  for (const int threads : {1, 2, 4}) {
    const std::vector<Batch> batches = collect(
        {.mirror = Mirror::kKeyed, .augment = augment, .prefetch = 5, .threads = threads}, 40);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      EXPECT_EQ(batches[i].request, expected[i].request);
      EXPECT_EQ(batches[i].images, expected[i].images);
      EXPECT_EQ(batches[i].labels, expected[i].labels);
    }
  }
}

TEST(Loader, MirrorsAboutHalfOfTheImagesByTheirCursor) {
  const std::vector<Batch> plain = collect({}, 50);
  const std::vector<Batch> mirrored = collect({.mirror = Mirror::kKeyed}, 50);
  int flips = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (std::size_t k = 0; k < 8; ++k) {
      std::vector<float> image(&plain[i].images[4 * k], &plain[i].images[4 * k] + 4);
      const std::vector<float> other(&mirrored[i].images[4 * k], &mirrored[i].images[4 * k] + 4);
      if (other != image) {
        std::swap(image[0], image[1]);
        std::swap(image[2], image[3]);
        EXPECT_EQ(other, image);
        ++flips;
      }
    }
  }
  EXPECT_NEAR(flips, 200, 40);
}

TEST(Loader, ChangesPicturesByTheirCursorAndLeavesLabels) {
  const std::vector<Batch> plain = collect({}, 3);
  const AugmentSpec spec{.brightness = 0.5};
  const std::vector<Batch> changed = collect({.augment = spec}, 3);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(changed[i].labels, plain[i].labels);
    for (std::size_t k = 0; k < 8; ++k) {
      std::vector<float> image(&plain[i].images[4 * k], &plain[i].images[4 * k] + 4);
      const auto cursor = static_cast<std::int64_t>(8 * i + k);
      change_shades(draw_shade_factors(spec, {.seed = 11, .cursor = cursor}, 0),
                    {.values = image, .channels = 1, .height = 2, .width = 2});
      EXPECT_EQ(std::vector<float>(&changed[i].images[4 * k], &changed[i].images[4 * k] + 4),
                image);
    }
  }
}

TEST(Loader, ReadsNoFurtherAheadThanItsDepth) {
  const NumberedDataset dataset;
  {
    Loader loader(dataset, SampleOrder(0, 100), {.prefetch = 2, .threads = 3}, counting());
    (void)loader.next();
  }
  EXPECT_LE(dataset.reads, 3 * 8);
}

TEST(Loader, ReusesRecycledMemory) {
  const NumberedDataset dataset;
  Loader loader(dataset, SampleOrder(0, 100), {.prefetch = 1}, counting());
  std::vector<const float*> blocks;
  for (int i = 0; i < 50; ++i) {
    Batch batch = loader.next();
    blocks.push_back(batch.images.data());
    loader.recycle(std::move(batch));
  }
  std::sort(blocks.begin(), blocks.end());
  const auto distinct = std::unique(blocks.begin(), blocks.end()) - blocks.begin();
  EXPECT_LE(distinct, 4);
}

TEST(Loader, ThrowsAReadersErrorAtItsBatch) {
  const SampleOrder order(0, 100);
  const NumberedDataset dataset(order.dataset_index(20));  // in the third batch
  Loader loader(dataset, order, {.prefetch = 4, .threads = 2}, counting());
  EXPECT_NO_THROW((void)loader.next());
  EXPECT_NO_THROW((void)loader.next());
  EXPECT_THROW((void)loader.next(), ConfigError);
}

TEST(Loader, ThrowsWhatTheSourceOfRequestsThrew) {
  const NumberedDataset dataset;
  Loader loader(dataset, SampleOrder(0, 100), {},
                []() -> std::optional<BatchRequest> { throw CommError("no lease"); });
  EXPECT_THROW((void)loader.next(), CommError);
}

TEST(Loader, RefusesToGoBeyondTheLastRequest) {
  const NumberedDataset dataset;
  Loader loader(dataset, SampleOrder(0, 100), {.threads = 2}, counting(2));
  EXPECT_EQ(loader.next().request.microbatch, 0);
  EXPECT_EQ(loader.next().request.microbatch, 1);
  EXPECT_THROW((void)loader.next(), InvariantError);
}

TEST(Loader, ComplainsWhenADatasetHangs) {
  struct HangingDataset : NumberedDataset {
    int read(std::int64_t, std::span<float>) const override {
      hangs.wait(true);
      return 0;
    }
    std::atomic<bool> hangs = true;
  };
  HangingDataset dataset;
  Loader loader(dataset, SampleOrder(0, 100), {.deadline = 20ms}, counting());
  EXPECT_THROW((void)loader.next(), EnvironmentError);
  dataset.hangs = false;
  dataset.hangs.notify_all();
}

TEST(Loader, RefusesADepthOrThreadsOfZero) {
  const NumberedDataset dataset;
  EXPECT_THROW(Loader(dataset, SampleOrder(0, 100), {.prefetch = 0}, counting()), InvariantError);
  EXPECT_THROW(Loader(dataset, SampleOrder(0, 100), {.threads = 0}, counting()), InvariantError);
}

TEST(ReadBatch, EqualsWhatTheLoaderGives) {
  const NumberedDataset dataset;
  const Batch expected = collect({.mirror = Mirror::kKeyed}, 1).front();
  Batch batch;
  read_batch(dataset, SampleOrder(11, 100), {.mirror = Mirror::kKeyed}, expected.request, batch);
  EXPECT_EQ(batch.images, expected.images);
}

TEST(Loader, NamesTheExampleThatHasAValueThatIsNotFinite) {
  struct Spoilt : NumberedDataset {
    int read(std::int64_t index, std::span<float> out) const override {
      const int label = NumberedDataset::read(index, out);
      out[3] = index == 42 ? std::numeric_limits<float>::quiet_NaN() : out[3];
      return label;
    }
  };
  const Spoilt dataset;
  Loader loader(dataset, SampleOrder(11, dataset.size()), {}, counting());
  try {
    for (int i = 0; i < 13; ++i) {  // all 100
      (void)loader.next();
    }
    FAIL() << "not noticed";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("example 42"));
  }
}

}  // namespace
}  // namespace gangway::data
