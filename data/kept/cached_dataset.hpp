// SPDX-License-Identifier: MIT
// Decodes and resizes pictures only once (data.cache). Created by cached().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "data/dataset.hpp"
#include "data/kept/picture_cache.hpp"

namespace gangway::data {

/// Reads the same bits as `all`. Caches an example if all its values come from 8-bit pixels.
class CachedDataset : public Dataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> all, std::unique_ptr<PictureCache> cache)
      : all_(std::move(all)), cache_(std::move(cache)) {}
  [[nodiscard]] std::int64_t size() const override { return all_->size(); }
  [[nodiscard]] ExampleShape shape() const override { return all_->shape(); }
  [[nodiscard]] int num_classes() const override { return all_->num_classes(); }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void expect(std::int64_t index) const override {
    if (!cache_->expect(index)) {
      all_->expect(index);
    }
  }
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

}  // namespace gangway::data
