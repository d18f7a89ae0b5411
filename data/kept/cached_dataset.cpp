// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/images/packed_batch.hpp"
#include "data/images/pixels.hpp"
#include "data/kept/picture_cache.hpp"
#include "data/kept_datasets.hpp"

namespace gangway::data {
namespace {

/// Decodes and resizes pictures only once (data.cache): reads the same bits as `all`. Caches an
/// example if all its values come from 8-bit pixels.
class CachedDataset : public WrappedDataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> all, std::unique_ptr<PictureCache> cache)
      : WrappedDataset(std::move(all)), cache_(std::move(cache)) {}

  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    if (const auto kept = cache_->find(index); !kept.empty()) {
      std::ranges::transform(kept, out.begin(), to_unit);
      return num_classes() == 0 ? 0 : label(index);
    }
    const int label = all().read(index, out);
    if (index < cache_->places()) {
      std::vector<std::uint8_t> bytes(out.size());
      if (to_bytes(out, bytes)) {
        cache_->put(index, bytes);
      }
    }
    return label;
  }

  void expect(std::int64_t index) const override {
    if (!cache_->expect(index)) {
      all().expect(index);
    }
  }

 private:
  std::unique_ptr<PictureCache> cache_;
};

}  // namespace

std::unique_ptr<Dataset> cached(std::unique_ptr<Dataset> all, const DataSpec& spec,
                                ContentsCheck* check) {
  if (spec.cache == 0 || check == nullptr) {
    return all;
  }
  if (check->index_folder.empty()) {
    check->notes.emplace_back(
        "data.cache: there is no place for it, so nothing is kept; set HOME or XDG_CACHE_HOME");
    return all;
  }
  const ExampleShape shape = all->shape();
  try {
    auto cache = std::make_unique<PictureCache>(
        PictureCacheSetup{.folder = check->index_folder / "pictures",
                          .key = fmt::format("{} {}x{}x{}", all->fingerprint(), shape.channels,
                                             shape.height, shape.width),
                          .picture_bytes = shape.elements(),
                          .num_pictures = all->size(),
                          .most_bytes = spec.cache});
    if (cache->places() < all->size()) {
      check->notes.push_back(
          fmt::format("data.cache: has room for {} of {} examples", cache->places(), all->size()));
    }
    return std::make_unique<CachedDataset>(std::move(all), std::move(cache));
  } catch (const EnvironmentError& error) {
    check->notes.push_back(fmt::format(
        "data.cache: nothing is kept; {}; free some of the disk, or set it to off", error.what()));
    return all;
  }
}

}  // namespace gangway::data
