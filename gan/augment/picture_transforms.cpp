// SPDX-License-Identifier: MIT
#include "gan/augment/picture_transforms.hpp"

#include <cmath>

#include "gan/augment/wavelets.hpp"

namespace gangway::gan {
namespace {

at::Tensor tensor_of(const Matrix& matrix, at::Device device) {
  return at::tensor(matrix.values).reshape({matrix.rows, matrix.columns}).to(device);
}

/// [K, 1, 1], float64, of one number a transformation.
at::Tensor column_of(const std::vector<Affine>& inverses, double Affine::*number,
                     at::Device device) {
  std::vector<double> values;
  for (const Affine& inverse : inverses) {
    values.push_back(inverse.*number);
  }
  return at::tensor(values).reshape({-1, 1, 1}).to(device);
}

/// Places of neighbours along one axis.
struct AxisPlaces {
  at::Tensor below;  ///< int64, within the period
  at::Tensor above;
  at::Tensor share;  ///< float64, of the one above
};

AxisPlaces places_at(const at::Tensor& exact, std::int64_t period) {
  const at::Tensor floor = exact.floor();
  const at::Tensor below = floor.to(at::kLong).remainder(period);
  return {below, (below + 1).remainder(period), exact - floor};
}

}  // namespace

AxisFilters::AxisFilters(std::int64_t pixels, at::Device device)
    : side(pixels),
      up(tensor_of(upsampling(pixels), device)),
      down(tensor_of(downsampling(pixels), device)),
      bands(tensor_of(band_matrices(pixels), device)) {}

at::Tensor rearranged(const at::Tensor& pictures, const at::Tensor& from) {
  const std::int64_t count = pictures.size(0);
  const std::int64_t channels = pictures.size(1);
  return pictures.flatten(2)
      .gather(2, from.unsqueeze(1).expand({count, channels, from.size(1)}))
      .reshape(pictures.sizes());
}

at::Tensor blitted(const at::Tensor& pictures, const std::vector<Affine>& inverses) {
  const std::int64_t side = pictures.size(2);
  const double centre = static_cast<double>(side - 1) / 2.0;
  const auto count = static_cast<std::int64_t>(inverses.size());
  const at::Tensor from = at::empty({count, side * side}, at::kLong);
  auto* next = from.mutable_data_ptr<std::int64_t>();
  for (const Affine& inverse : inverses) {
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t column = 0; column < side; ++column) {
        const double x = static_cast<double>(column) - centre;
        const double y = static_cast<double>(row) - centre;
        const auto pixel = [&](double place) {
          return mirrored_index(std::llround(place + centre), side);
        };
        *next++ = pixel(inverse.yx * x + inverse.yy * y + inverse.y0) * side +
                  pixel(inverse.xx * x + inverse.xy * y + inverse.x0);
      }
    }
  }
  return rearranged(pictures, from.to(pictures.device()));
}

at::Tensor resampled(const at::Tensor& pictures, const std::vector<Affine>& inverses,
                     const AxisFilters& filters) {
  const at::Device device = pictures.device();
  const std::int64_t count = pictures.size(0);
  const std::int64_t channels = pictures.size(1);
  const double centre = static_cast<double>(filters.side - 1) / 2.0;
  const std::int64_t wide = num_places(filters.side);
  // The whole of a period, so that nothing depends on how far a picture is moved.
  const std::int64_t period = filters.up.size(0);
  const at::Tensor up = filters.up.to(pictures.scalar_type());
  const at::Tensor fine = at::matmul(at::matmul(up, pictures), up.t());

  const at::Tensor steps =
      at::arange(wide, at::device(device).dtype(at::kDouble)) * 0.5 + (kFirstPlace * 0.5 - centre);
  const at::Tensor x = steps.reshape({1, 1, wide});
  const at::Tensor y = steps.reshape({1, wide, 1});
  const auto number = [&](double Affine::*which) { return column_of(inverses, which, device); };
  const auto axis = [&](double Affine::*by_x, double Affine::*by_y, double Affine::*constant) {
    const at::Tensor pixels = number(by_x) * x + number(by_y) * y + number(constant);
    return places_at((pixels + centre) * 2.0, period);
  };
  const AxisPlaces across = axis(&Affine::xx, &Affine::xy, &Affine::x0);
  const AxisPlaces down = axis(&Affine::yx, &Affine::yy, &Affine::y0);

  const at::Tensor flat = fine.flatten(2);
  const auto taken = [&](const at::Tensor& row, const at::Tensor& column) {
    const at::Tensor index = (row * period + column).reshape({count, 1, wide * wide});
    return flat.gather(2, index.expand({count, channels, wide * wide}))
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

at::Tensor recolored(const at::Tensor& pictures, const std::vector<ColorMatrix>& colors) {
  const bool is_grey = pictures.size(1) == 1;
  const std::int64_t rows = is_grey ? 1 : 3;
  std::vector<double> gains;
  std::vector<double> shifts;
  for (const ColorMatrix& color : colors) {
    double sum = 0.0;
    double shift = 0.0;
    for (const auto& row : color) {
      for (std::size_t column = 0; column < 3; ++column) {
        sum += row[column];
        if (!is_grey) {
          gains.push_back(row[column]);
        }
      }
      shift += row[3];
      if (!is_grey) {
        shifts.push_back(row[3]);
      }
    }
    if (is_grey) {
      gains.push_back(sum / 3.0);
      shifts.push_back(shift / 3.0);
    }
  }
  const auto like_pictures = [&](const std::vector<double>& values, std::int64_t columns) {
    return at::tensor(values).reshape({-1, rows, columns}).to(pictures.options());
  };
  return (at::matmul(like_pictures(gains, rows), pictures.flatten(2)) + like_pictures(shifts, 1))
      .reshape(pictures.sizes());
}

at::Tensor band_filtered(const at::Tensor& pictures,
                         const std::vector<std::array<double, kNumBands>>& gains,
                         const AxisFilters& filters) {
  std::vector<double> values;
  for (const auto& of_picture : gains) {
    values.insert(values.end(), of_picture.begin(), of_picture.end());
  }
  const at::Tensor by_band = at::tensor(values).reshape({-1, kNumBands}).to(pictures.device());
  const at::Tensor matrices = at::matmul(by_band, filters.bands)
                                  .reshape({-1, 1, filters.side, filters.side})
                                  .to(pictures.scalar_type());
  return at::matmul(at::matmul(matrices, pictures), matrices.transpose(2, 3));
}

at::Tensor cut_out(const at::Tensor& pictures, const std::vector<Cutout>& cutouts) {
  const std::int64_t side = pictures.size(2);
  const auto count = static_cast<std::int64_t>(cutouts.size());
  const at::Tensor kept = at::ones({count, 1, side, side}, at::kFloat);
  auto* next = kept.mutable_data_ptr<float>();
  const auto is_near = [side](std::int64_t pixel, double centre) {
    const double place = (static_cast<double>(pixel) + 0.5) / static_cast<double>(side);
    return std::abs(place - centre) < kCutoutSide / 2.0;
  };
  for (const Cutout& cutout : cutouts) {
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t column = 0; column < side; ++column) {
        *next++ = is_near(row, cutout.y) && is_near(column, cutout.x) ? 0.0F : 1.0F;
      }
    }
  }
  return pictures * kept.to(pictures.options());
}

}  // namespace gangway::gan
