// SPDX-License-Identifier: MIT
#include "launch/model/reference_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/idx_dataset.hpp"
#include "data/open_dataset.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kImages = 10'000;
constexpr std::int64_t kFewestImages = 100;
constexpr std::uint64_t kOrderSeed =
    0;  // seed of the order of training images; the same for every job

/// Returns the images `offset`, `offset` + 1, … of a source.
gan::ImageSource later(gan::ImageSource source, std::int64_t offset) {
  return [source = std::move(source), offset](std::int64_t first, std::int64_t count) {
    return source(first + offset, count);
  };
}

}  // namespace

std::unique_ptr<data::Dataset> open_test_images(const ModelSpec& model) {
  const DataSpec spec{.source = std::string("idx:") + data::kFashionMnistFolder +
                                "/t10k-images-idx3-ubyte.gz"};
  return data::open_dataset(spec, model, 0);
}

ReferenceData open_reference_data(const JobSpec& job, std::optional<std::int64_t> training_images) {
  ReferenceData result;
  DataSpec whole = job.data;
  whole.limit = 0;  // keeps scores of one source comparable
  result.train = data::open_dataset(whole, job.model, job.training.seed);
  const std::int64_t size = result.train->size();
  if (size < 2 * kFewestImages) {
    throw ConfigError(fmt::format("{}: {} images are too few for a score; {} at least are needed",
                                  job.data.source, size, 2 * kFewestImages));
  }
  if (job.data.source == "fashion-mnist") {
    result.test = open_test_images(job.model);
  }
  const gan::ImageSource shuffled = gan::shuffled_images_of(*result.train, kOrderSeed);
  if (training_images) {
    result.count = std::min(*training_images, size);
    result.reference = shuffled;
    result.held_back = result.test ? gan::images_of(*result.test) : later(shuffled, result.count);
    const std::int64_t left = result.test ? result.test->size() : size - result.count;
    result.held_back_count = left < kFewestImages ? 0 : std::min(left, result.count);
  } else if (result.test) {
    result.count = result.held_back_count = std::min(kImages, result.test->size());
    result.reference = gan::images_of(*result.test);
    result.held_back = shuffled;
  } else {
    result.count = result.held_back_count = std::min(kImages, size / 2);
    result.reference = shuffled;
    result.held_back = later(shuffled, result.count);
  }
  const bool compares_with_test = result.test && !training_images;
  result.description =
      fmt::format("{} {} images", result.count, compares_with_test ? "test" : "training");
  return result;
}

}  // namespace gangway::launch
