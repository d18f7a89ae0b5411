// SPDX-License-Identifier: MIT
#include "launch/model/reference_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/data/idx_dataset.hpp"
#include "gan/data/open_dataset.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kImages = 10'000;
constexpr std::int64_t kFewestImages = 100;
constexpr std::uint64_t kOrderSeed =
    0;  // of the order in which training images are looked at; the same for every job

/// The images `offset`, `offset` + 1, … of another source.
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

ReferenceData open_reference_data(const JobSpec& job) {
  ReferenceData result;
  result.train = data::open_dataset(job.data, job.model, job.training.seed);
  const gan::ImageSource shuffled = gan::shuffled_images_of(*result.train, kOrderSeed);
  if (job.data.source == "fashion-mnist") {
    result.test = open_test_images(job.model);
    result.count = std::min(kImages, result.test->size());
    result.reference = gan::images_of(*result.test);
    result.held_back = shuffled;
    result.description = fmt::format("{} test images", result.count);
    return result;
  }
  result.count = std::min(kImages, result.train->size() / 2);
  if (result.count < kFewestImages) {
    throw ConfigError(
        fmt::format("{}: {} images are too few for a score; FD-LeNet needs {} at least",
                    job.data.source, result.train->size(), 2 * kFewestImages));
  }
  result.reference = shuffled;
  result.held_back = later(shuffled, result.count);
  result.description = fmt::format("{} training images", result.count);
  return result;
}

}  // namespace gangway::launch
