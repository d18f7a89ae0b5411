// SPDX-License-Identifier: MIT
// A part of a data set, for training on less than there is (data.limit). Used where data sets are
// opened; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gan/data/dataset.hpp"

namespace gangway::data {

/// The first examples of another set, in its order. Labels are counted as there.
class FirstExamples : public Dataset {
 public:
  /// @pre 1 <= count <= all->size()
  FirstExamples(std::unique_ptr<Dataset> all, std::int64_t count);
  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] ExampleShape shape() const override { return all_->shape(); }
  [[nodiscard]] int num_classes() const override { return all_->num_classes(); }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    return all_->read(index, out);
  }
  void expect(std::int64_t index) const override { all_->expect(index); }
  [[nodiscard]] int label(std::int64_t index) const override { return all_->label(index); }
  [[nodiscard]] DecodeTimes decode_times() const override { return all_->decode_times(); }
  [[nodiscard]] std::string fingerprint() const override {
    return fingerprint_of(all_->fingerprint());
  }
  [[nodiscard]] std::string earlier_fingerprint() const override {
    return fingerprint_of(all_->earlier_fingerprint());
  }

 private:
  [[nodiscard]] std::string fingerprint_of(const std::string& all) const;

  std::unique_ptr<Dataset> all_;
  std::int64_t count_;
};

/// The first `limit` of `all`, or all where it is 0.
/// @param name  of the set in a complaint: "fashion-mnist"
/// @throws ConfigError where there are fewer
[[nodiscard]] std::unique_ptr<Dataset> limited(std::unique_ptr<Dataset> all, std::int64_t limit,
                                               const std::string& name);

}  // namespace gangway::data
