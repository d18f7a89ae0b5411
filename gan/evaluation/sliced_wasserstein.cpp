// SPDX-License-Identifier: MIT
#include "gan/evaluation/sliced_wasserstein.hpp"

#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>

namespace gangway::gan {
namespace {

constexpr std::int64_t kDirections = 512;
/// Directions processed at a time, because sorting doubles their memory.
constexpr std::int64_t kDirectionsAtOnce = 64;
constexpr std::int64_t kBatch = 256;  // pictures

/// Returns the binomial filter (1 4 6 4 1) for each channel: [C, 1, 5, 5].
at::Tensor binomial(std::int64_t channels) {
  const at::Tensor row = at::tensor({1.0F, 4.0F, 6.0F, 4.0F, 1.0F}) / 16.0F;
  return at::outer(row, row).repeat({channels, 1, 1, 1});
}

at::Tensor blurred(const at::Tensor& images) {
  const std::vector<std::int64_t> one{1, 1};
  return at::conv2d(at::reflection_pad2d(images, {2, 2, 2, 2}), binomial(images.size(1)),
                    at::Tensor(), one, at::IntArrayRef{0, 0}, one, images.size(1));
}

at::Tensor halved(const at::Tensor& images) {
  return blurred(images).slice(2, 0, std::nullopt, 2).slice(3, 0, std::nullopt, 2);
}

at::Tensor doubled(const at::Tensor& images) {
  at::Tensor wide = at::zeros(
      {images.size(0), images.size(1), 2 * images.size(2), 2 * images.size(3)}, images.options());
  wide.slice(2, 0, std::nullopt, 2).slice(3, 0, std::nullopt, 2).copy_(images);
  return blurred(wide) * 4.0;
}

/// @param first  number of the first picture
at::Tensor patches_of(const at::Tensor& images, std::int64_t count, std::uint64_t seed,
                      std::int64_t first, std::int64_t level) {
  const std::int64_t side = images.size(2);
  std::vector<at::Tensor> corners;
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    // Seeds are far apart because generators of near seeds begin alike.
    const auto own = static_cast<std::uint64_t>(first + i) * 0x9E3779B97F4A7C15U +
                     static_cast<std::uint64_t>(level) * 0xBF58476D1CE4E5B9U + seed;
    corners.push_back(at::randint(0, side - kPatchSide + 1, {count, 2},
                                  at::detail::createCPUGenerator(own), at::kLong));
  }
  const at::Tensor corner = at::stack(corners);  // [N, count, (y, x)]
  const at::Tensor offset = at::arange(kPatchSide);
  const at::Tensor within = (offset.unsqueeze(1) * side + offset.unsqueeze(0)).reshape({1, 1, -1});
  const at::Tensor begin = corner.select(2, 0) * side + corner.select(2, 1);
  const at::Tensor places = (begin.unsqueeze(2) + within).reshape({images.size(0), 1, -1});
  return images.flatten(2)
      .gather(2, places.expand({-1, images.size(1), -1}))
      .reshape({images.size(0), images.size(1), count, -1})
      .transpose(1, 2)
      .reshape({images.size(0) * count, images.size(1), -1});
}

}  // namespace

std::vector<at::Tensor> laplacian_pyramid(const at::Tensor& images) {
  std::vector<at::Tensor> levels{images};
  while (levels.back().size(2) % 2 == 0 && levels.back().size(2) / 2 >= kLeastLevelSide) {
    at::Tensor smaller = halved(levels.back());
    levels.back() = levels.back() - doubled(smaller);
    levels.push_back(std::move(smaller));
  }
  return levels;
}

std::vector<at::Tensor> pyramid_patches(const ImageSource& images, std::int64_t count,
                                        std::int64_t patches, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<at::Tensor>> parts;  // by level
  for (std::int64_t first = 0; first < count; first += kBatch) {
    const at::Tensor batch = images(first, std::min(kBatch, count - first)).contiguous();
    const std::vector<at::Tensor> levels = laplacian_pyramid(batch);
    parts.resize(levels.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
      parts[level].push_back(
          patches_of(levels[level], patches, seed, first, static_cast<std::int64_t>(level)));
    }
  }
  std::vector<at::Tensor> all;
  for (const std::vector<at::Tensor>& level : parts) {
    at::Tensor values = at::cat(level);  // [count * patches, C, 49]
    values = values - values.mean(at::IntArrayRef{0, 2}, /*keepdim=*/true);
    values =
        values /
        values.std(at::IntArrayRef{0, 2}, /*unbiased=*/false, /*keepdim=*/true).clamp_min(1e-12);
    all.push_back(values.flatten(1));
  }
  return all;
}

SlicedDistance sliced_distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                               std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  SlicedDistance distance;
  for (std::size_t level = 0; level < a.size(); ++level) {
    at::Tensor directions = at::randn({kDirections, a[level].size(1)},
                                      at::detail::createCPUGenerator(seed + level), at::kFloat);
    directions = directions / directions.norm(2, {1}, /*keepdim=*/true);
    double sum = 0.0;
    for (std::int64_t first = 0; first < kDirections; first += kDirectionsAtOnce) {
      const at::Tensor some = directions.slice(0, first, first + kDirectionsAtOnce);
      const auto sorted = [&](const at::Tensor& patches) {
        return std::get<0>(at::matmul(some, patches.t()).sort(1));
      };
      sum += (sorted(a[level]) - sorted(b[level])).abs().mean(at::kDouble).item<double>() *
             static_cast<double>(some.size(0));
    }
    distance.by_level.push_back(1000.0 * sum / static_cast<double>(kDirections));
    distance.mean += distance.by_level.back() / static_cast<double>(a.size());
  }
  return distance;
}

}  // namespace gangway::gan
