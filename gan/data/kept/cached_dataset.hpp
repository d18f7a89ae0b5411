// SPDX-License-Identifier: MIT
// Pictures that are decoded and resized once (data.cache). Used where data sets are opened.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "gan/data/contents/file_contents.hpp"
#include "gan/data/dataset.hpp"
#include "gan/data/kept/picture_cache.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// What `all` reads, the same bits: an example is kept where all of its values are those of 8-bit
/// pixels.
class CachedDataset : public Dataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> all, std::unique_ptr<PictureCache> cache)
      : all_(std::move(all)), cache_(std::move(cache)) {}
  [[nodiscard]] std::int64_t size() const override { return all_->size(); }
  [[nodiscard]] ExampleShape shape() const override { return all_->shape(); }
  [[nodiscard]] int num_classes() const override { return all_->num_classes(); }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  [[nodiscard]] int label(std::int64_t index) const override { return all_->label(index); }
  [[nodiscard]] DecodeTimes decode_times() const override { return all_->decode_times(); }
  [[nodiscard]] std::string fingerprint() const override { return all_->fingerprint(); }
  [[nodiscard]] std::string earlier_fingerprint() const override {
    return all_->earlier_fingerprint();
  }

 private:
  std::unique_ptr<Dataset> all_;
  std::unique_ptr<PictureCache> cache_;
};

/// `all` behind the job's cache, if it has one, and if `check` says where it may lie; what people
/// should know of it goes to check->notes.
[[nodiscard]] std::unique_ptr<Dataset> cached(std::unique_ptr<Dataset> all, const DataSpec& spec,
                                              ContentsCheck* check);

}  // namespace gangway::data
