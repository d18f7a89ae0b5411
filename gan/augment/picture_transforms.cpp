// SPDX-License-Identifier: MIT
#include "gan/augment/picture_transforms.hpp"

#include <cmath>

#include "gan/augment/exact_gather.hpp"
#include "gan/augment/wavelets.hpp"

namespace gangway::gan {
namespace {

at::Tensor tensor_of(const Matrix& matrix, at::Device device) {
  return at::tensor(matrix.values).reshape({matrix.rows, matrix.columns}).to(device);
}

/// Returns one number of each transformation: [K, 1, 1].
at::Tensor column_of(const at::Tensor& geometry, double Affine::*number) {
  return geometry.select(1, place_of(number)).reshape({-1, 1, 1});
}

/// Coordinates 0, 1, … along rows and columns of a square of `side` pixels: [1, S, 1] and [1, 1,
/// S].
struct PixelPlaces {
  PixelPlaces(std::int64_t side, at::Device device)
      : x(at::arange(side, at::device(device).dtype(at::kDouble)).reshape({1, 1, side})),
        y(x.transpose(1, 2)) {}
  at::Tensor x;
  at::Tensor y;
};

/// The two neighbours of a position along one axis, and their weights.
struct AxisPlaces {
  at::Tensor below;  ///< int64, within the period
  at::Tensor above;
  at::Tensor share;  ///< float64, weight of `above`
};

AxisPlaces places_at(const at::Tensor& exact, std::int64_t period) {
  const at::Tensor floor = exact.floor();
  const at::Tensor below = floor.to(at::kLong).remainder(period);
  return {below, (below + 1).remainder(period), exact - floor};
}

/// Returns pixels `index` [N, Q] of each channel of `flat` [N, C, P].
at::Tensor taken_from(const at::Tensor& flat, const at::Tensor& index) {
  return flat.is_cpu()
             ? flat.gather(2,
                           index.unsqueeze(1).expand({flat.size(0), flat.size(1), index.size(1)}))
             : exactly_gathered(flat, index);
}

}  // namespace

AxisFilters::AxisFilters(std::int64_t pixels, at::Device device)
    : side(pixels),
      up(tensor_of(upsampling(pixels), device)),
      down(tensor_of(downsampling(pixels), device)),
      bands(tensor_of(band_matrices(pixels), device)) {}

at::Tensor rearranged(const at::Tensor& pictures, const at::Tensor& from) {
  return taken_from(pictures.flatten(2), from).reshape(pictures.sizes());
}

at::Tensor blitted(const at::Tensor& pictures, const at::Tensor& geometry) {
  const std::int64_t side = pictures.size(2);
  const double centre = static_cast<double>(side - 1) / 2.0;
  const PixelPlaces places(side, pictures.device());
  const at::Tensor x = places.x - centre;
  const at::Tensor y = places.y - centre;
  const auto pixels = [&](double Affine::*by_x, double Affine::*by_y, double Affine::*constant) {
    const at::Tensor exact = column_of(geometry, by_x) * x + column_of(geometry, by_y) * y +
                             column_of(geometry, constant) + centre;
    // Reflects as mirrored_index does.
    const std::int64_t period = 2 * (side - 1);
    const at::Tensor within = exact.round().to(at::kLong).remainder(period);
    return at::minimum(within, period - within);
  };
  const at::Tensor from = pixels(&Affine::yx, &Affine::yy, &Affine::y0) * side +
                          pixels(&Affine::xx, &Affine::xy, &Affine::x0);
  return rearranged(pictures, from.flatten(1));
}

at::Tensor resampled(const at::Tensor& pictures, const at::Tensor& geometry,
                     const AxisFilters& filters) {
  const at::Device device = pictures.device();
  const std::int64_t count = pictures.size(0);
  const std::int64_t channels = pictures.size(1);
  const double centre = static_cast<double>(filters.side - 1) / 2.0;
  const std::int64_t wide = num_places(filters.side);
  // Upsamples a whole period, so that the work does not depend on a picture's shift.
  const std::int64_t period = filters.up.size(0);
  const at::Tensor up = filters.up.to(pictures.scalar_type());
  const at::Tensor fine = at::matmul(at::matmul(up, pictures), up.t());

  const at::Tensor steps =
      at::arange(wide, at::device(device).dtype(at::kDouble)) * 0.5 + (kFirstPlace * 0.5 - centre);
  const at::Tensor x = steps.reshape({1, 1, wide});
  const at::Tensor y = steps.reshape({1, wide, 1});
  const auto number = [&](double Affine::*which) { return column_of(geometry, which); };
  const auto axis = [&](double Affine::*by_x, double Affine::*by_y, double Affine::*constant) {
    const at::Tensor pixels = number(by_x) * x + number(by_y) * y + number(constant);
    return places_at((pixels + centre) * 2.0, period);
  };
  const AxisPlaces across = axis(&Affine::xx, &Affine::xy, &Affine::x0);
  const AxisPlaces down = axis(&Affine::yx, &Affine::yy, &Affine::y0);

  const at::Tensor flat = fine.flatten(2);
  const auto taken = [&](const at::Tensor& row, const at::Tensor& column) {
    return taken_from(flat, (row * period + column).reshape({count, wide * wide}))
        .reshape({count, channels, wide, wide});
  };
  const at::Tensor right = across.share.unsqueeze(1).to(pictures.scalar_type());
  const at::Tensor lower = down.share.unsqueeze(1).to(pictures.scalar_type());
  const at::Tensor top =
      taken(down.below, across.below) * (1.0 - right) + taken(down.below, across.above) * right;
  const at::Tensor bottom =
      taken(down.above, across.below) * (1.0 - right) + taken(down.above, across.above) * right;
  const at::Tensor moved = top * (1.0 - lower) + bottom * lower;
  const at::Tensor back = filters.down.to(pictures.scalar_type());
  return at::matmul(at::matmul(back, moved), back.t());
}

at::Tensor recolored(const at::Tensor& pictures, const at::Tensor& colors) {
  const at::Tensor rows = colors.reshape({-1, 3, 4});
  at::Tensor gains = rows.narrow(2, 0, 3);
  at::Tensor shifts = rows.narrow(2, 3, 1);
  if (pictures.size(1) == 1) {
    // Adds one channel after another because a LibTorch sum has another order on each device.
    const auto mean = [](const at::Tensor& values) {
      const at::Tensor flat = values.flatten(1);
      at::Tensor sum = flat.select(1, 0);
      for (std::int64_t i = 1; i < flat.size(1); ++i) {
        sum = sum + flat.select(1, i);
      }
      return (sum / 3.0).reshape({-1, 1, 1});
    };
    gains = mean(gains);
    shifts = mean(shifts);
  }
  const auto type = pictures.scalar_type();
  return (at::matmul(gains.to(type), pictures.flatten(2)) + shifts.to(type))
      .reshape(pictures.sizes());
}

at::Tensor band_filtered(const at::Tensor& pictures, const at::Tensor& gains,
                         const AxisFilters& filters) {
  const at::Tensor matrices = at::matmul(gains, filters.bands)
                                  .reshape({-1, 1, filters.side, filters.side})
                                  .to(pictures.scalar_type());
  return at::matmul(at::matmul(matrices, pictures), matrices.transpose(2, 3));
}

at::Tensor cut_out(const at::Tensor& pictures, const at::Tensor& centres) {
  const std::int64_t side = pictures.size(2);
  const PixelPlaces places(side, pictures.device());
  const auto is_near = [&](const at::Tensor& pixel, double Cutout::*centre) {
    const at::Tensor place = (pixel + 0.5) / static_cast<double>(side);
    return (place - centres.select(1, place_of(centre)).reshape({-1, 1, 1})).abs() <
           kCutoutSide / 2.0;
  };
  const at::Tensor is_cut = is_near(places.y, &Cutout::y) & is_near(places.x, &Cutout::x);
  return pictures * (~is_cut).unsqueeze(1).to(pictures.scalar_type());
}

}  // namespace gangway::gan
