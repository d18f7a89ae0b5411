// SPDX-License-Identifier: MIT
#include "gan/kernels/picture_maps.hpp"

#include <array>

#include "gan/kernels/tiled_maps.hpp"
#include "gan/kernels/weight_gradients.hpp"

namespace gangway::gan {
namespace {

/// Limits of thin maps: many channels on one side, few on the other. For these, LibTorch's kernels
/// run at 1/30 of the speed of a matrix product.
constexpr std::int64_t kManyChannels = 16;
constexpr std::int64_t kFewChannels = 4;
/// Up to this many kernel places, LibTorch's weight gradients are slower than a matrix product: 1/2
/// of its speed in float32, 1/5 in bf16.
constexpr std::int64_t kFewPlaces = 16;
/// From so many weights a kernel element, Gangway's tiles are faster than LibTorch's direct
/// kernels, which reach a matrix product's speed at stride 1.
constexpr std::int64_t kManyWeights = std::int64_t{1} << 16;
constexpr std::int64_t kManyStridedWeights = std::int64_t{1} << 13;

/// Returns [N * H * W, C], by picture and pixel.
at::Tensor as_rows(const at::Tensor& x) { return x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)}); }

/// Returns [wide, kernel * kernel * narrow] of a weight [wide, narrow, kernel, kernel]. `wide` are
/// the channels of the smaller pictures, in both directions.
at::Tensor as_rows_of_patches(const at::Tensor& weight) {
  return weight.permute({0, 2, 3, 1}).reshape({weight.size(0), -1});
}

/// Returns whether tiles compute a float32 map fastest.
bool is_for_tiles(const at::Tensor& weight, const KernelPlaces& places) {
  return weight.scalar_type() == at::kFloat && places.kernel > 1 &&
         weight.size(0) * weight.size(1) >=
             (places.stride > 1 ? kManyStridedWeights : kManyWeights);
}

}  // namespace

at::Tensor spread_pictures(const at::Tensor& small, const at::Tensor& weight, at::IntArrayRef shape,
                           const KernelPlaces& places) {
  if (small.scalar_type() == at::kFloat && weight.size(1) <= kFewChannels &&
      weight.size(0) >= kManyChannels) {
    return sum_of_patches(at::mm(as_rows(small), as_rows_of_patches(weight)), shape, places);
  }
  if (is_for_tiles(weight, places) && can_tile_map(weight.size(1)) &&
      places.kernel >= places.stride) {
    return tiled_transposed_convolution(small, weight, shape, places);
  }
  const auto left_over = [&](std::int64_t side) {
    return shape[static_cast<std::size_t>(side)] - (small.size(side) - 1) * places.stride -
           places.kernel + 2 * places.padding;
  };
  return at::conv_transpose2d(small, weight, {}, places.stride, places.padding,
                              {left_over(2), left_over(3)});
}

at::Tensor gathered_pictures(const at::Tensor& large, const at::Tensor& weight,
                             const std::optional<at::Tensor>& bias, const KernelPlaces& places) {
  return is_for_tiles(weight, places) && can_tile_map(weight.size(0))
             ? tiled_convolution(large, weight, bias, places)
             : at::conv2d(large, weight, bias, places.stride, places.padding);
}

at::Tensor weight_gradient_of(const at::Tensor& large, const at::Tensor& small,
                              const at::Tensor& weight, const KernelPlaces& places) {
  if ((places.stride > 1 || is_for_tiles(weight, places)) &&
      can_gather_weight_gradient(small, weight)) {
    return gathered_weight_gradient(large, small, weight, places);
  }
  const bool is_product = small.size(2) * small.size(3) <= kFewPlaces &&
                          weight.size(0) >= kManyChannels && weight.size(1) >= kManyChannels;
  if (is_product) {
    return at::mm(as_rows(small).t(), patches_of(large, places))
        .view({weight.size(0), places.kernel, places.kernel, weight.size(1)})
        .permute({0, 3, 1, 2});
  }
  const std::array<std::int64_t, 2> stride{places.stride, places.stride};
  const std::array<std::int64_t, 2> padding{places.padding, places.padding};
  return std::get<1>(at::convolution_backward(small, large, weight, std::nullopt, stride, padding,
                                              {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1,
                                              {false, true, false}));
}

at::Tensor map_points(const at::Tensor& x, const at::Tensor& weight,
                      const std::optional<at::Tensor>& bias) {
  const std::int64_t out = weight.size(1);
  const std::int64_t kernel = weight.size(2);
  const bool is_last = weight.is_contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor y =
      is_last ? at::mm(x.flatten(1), as_rows_of_patches(weight))
                    .view({-1, kernel, kernel, out})
                    .permute({0, 3, 1, 2})
              : at::mm(x.flatten(1), weight.flatten(1)).view({-1, out, kernel, kernel});
  return bias ? y + bias->to(y.scalar_type()).reshape({1, -1, 1, 1}) : y;
}

}  // namespace gangway::gan
