// SPDX-License-Identifier: MIT
// Restricts a data set to its first examples (data.limit). Used where data sets are opened. Any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.hpp"

namespace gangway::data {

/// The first examples of another set, in its order. The number of labels is that of the whole set.
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

/// Returns the first `limit` examples of `all`, or all of them if `limit` is 0.
/// @param name  of the set in messages, e.g. "fashion-mnist"
/// @throws ConfigError if there are fewer
[[nodiscard]] std::unique_ptr<Dataset> limited(std::unique_ptr<Dataset> all, std::int64_t limit,
                                               const std::string& name);

}  // namespace gangway::data
