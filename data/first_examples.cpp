// SPDX-License-Identifier: MIT
#include "data/first_examples.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/fingerprint.hpp"

namespace gangway::data {
namespace {

/// The first examples of another set, in its order. The number of labels is that of the whole set.
class FirstExamples : public WrappedDataset {
 public:
  /// @pre 1 <= count <= all->size()
  FirstExamples(std::unique_ptr<Dataset> all, std::int64_t count)
      : WrappedDataset(std::move(all)), count_(count) {}
  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    return all().read(index, out);
  }

 private:
  [[nodiscard]] std::string marked(const std::string& of_all) const override {
    return fingerprint_of("first examples", count_, of_all);
  }

  std::int64_t count_;
};

}  // namespace

std::unique_ptr<Dataset> limited(std::unique_ptr<Dataset> all, std::int64_t limit,
                                 const std::string& name) {
  if (limit == 0) {
    return all;
  }
  if (limit > all->size()) {
    throw ConfigError(fmt::format(
        "data.limit: {} examples are more than the {} of {}; use {} at most, or 0 for all of them",
        limit, all->size(), name, all->size()));
  }
  return std::make_unique<FirstExamples>(std::move(all), limit);
}

}  // namespace gangway::data
