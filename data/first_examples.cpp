// SPDX-License-Identifier: MIT
#include "data/first_examples.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/fingerprint.hpp"

namespace gangway::data {

FirstExamples::FirstExamples(std::unique_ptr<Dataset> all, std::int64_t count)
    : all_(std::move(all)), count_(count) {}

std::string FirstExamples::fingerprint_of(const std::string& all) const {
  Fingerprint print;
  print.add("first examples");
  print.add(count_);
  print.add(all);
  return print.hex();
}

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
