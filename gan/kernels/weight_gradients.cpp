// SPDX-License-Identifier: MIT
#include "gan/kernels/weight_gradients.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include "gan/kernels/cpu_versions.hpp"
#include "gan/kernels/tile_product.hpp"

namespace gangway::gan {
namespace {

/// Rows of the most tiles. The last ones of a kernel row have kLastRows.
constexpr int kSumRows = 6;
constexpr int kLastRows = 4;
/// Sums that stay in the second cache from block to block.
constexpr std::int64_t kSumsAtOnce = std::int64_t{1} << 17;

/// Places of the kernel in all pictures, in lines of `width` places.
struct PlaceGrid {
  std::int64_t lines;  ///< of all pictures
  std::int64_t height;
  std::int64_t width;
  [[nodiscard]] std::int64_t lines_at_once() const {
    return std::max<std::int64_t>(1, kTileDepth / width);
  }
};

/// Lines [begin, end) of places.
struct Lines {
  std::int64_t begin;
  std::int64_t end;
};

/// The pixels under a kernel as a matrix with a row for each place. Its columns are the kernel's
/// rows, one behind another.
struct Patches {
  const float* pixels;  ///< [N, height, width, channels]
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  KernelPlaces places;
  [[nodiscard]] std::int64_t row_columns() const { return places.kernel * channels; }
  [[nodiscard]] std::int64_t columns() const { return places.kernel * row_columns(); }
};

Patches patches_in(const at::Tensor& pictures, const KernelPlaces& places) {
  return {pictures.const_data_ptr<float>(), pictures.size(2), pictures.size(3), pictures.size(1),
          places};
}

/// Columns [begin, begin + width) of a kernel row; `at` counts columns of all kernel rows.
struct Strip {
  std::int64_t at;
  std::int64_t kernel_row;
  std::int64_t begin;
  std::int64_t width;
};

std::vector<Strip> strips_of(const Patches& patches, std::int64_t widest) {
  std::vector<Strip> strips;
  for (std::int64_t row = 0; row < patches.places.kernel; ++row) {
    for (std::int64_t begin = 0; begin < patches.row_columns(); begin += widest) {
      strips.push_back({row * patches.row_columns() + begin, row, begin,
                        std::min(widest, patches.row_columns() - begin)});
    }
  }
  return strips;
}

/// Splits the columns of each kernel row, a multiple of kLastRows, into tiles of rows.
std::vector<Strip> tiles_of(const Patches& patches) {
  std::vector<Strip> tiles;
  for (std::int64_t row = 0; row < patches.places.kernel; ++row) {
    for (std::int64_t begin = 0; begin < patches.row_columns(); begin += tiles.back().width) {
      const std::int64_t left = patches.row_columns() - begin;
      const bool is_last = left == kLastRows || left == 2 * kLastRows;
      tiles.push_back(
          {row * patches.row_columns() + begin, row, begin, is_last ? kLastRows : kSumRows});
    }
  }
  return tiles;
}

/// Copies kWidth floats as vectors, or as one half or quarter of a vector.
template <std::int64_t kWidth>
GANGWAY_INLINE void copy_floats(const float* from, float* to) {
  constexpr std::int64_t kAtOnce = std::min<std::int64_t>(kWidth, kLanes);
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < kWidth; i += kAtOnce) {
    std::memcpy(to + i, from + i, kAtOnce * sizeof(float));
  }
}

/// Copies the strip's columns of each place in `lines`: [places, kWidth]; zeros outside of
/// pictures.
template <std::int64_t kWidth>
GANGWAY_INLINE void gather(const Patches& from, const PlaceGrid& grid, Lines lines,
                           const Strip& strip, float* to) {
  const std::int64_t step = from.places.stride * from.channels;
  const std::int64_t pixels = from.width * from.channels;
  // The place i of a line reads pixels from i * step + first on.
  const std::int64_t first = strip.begin - from.places.padding * from.channels;
  const std::int64_t whole_begin =
      std::clamp<std::int64_t>((-first + step - 1) / step, 0, grid.width);
  const std::int64_t room = pixels - kWidth - first;
  const std::int64_t whole_end =
      room < 0 ? whole_begin : std::clamp(room / step + 1, whole_begin, grid.width);
  const auto copy_part = [&](const float* row, std::int64_t place) {
    const std::int64_t at = place * step + first;
    const std::int64_t begin = std::clamp<std::int64_t>(-at, 0, kWidth);
    const std::int64_t end = std::clamp(pixels - at, begin, kWidth);
    float* const place_to = to + place * kWidth;
    std::memset(place_to, 0, kWidth * sizeof(float));
    std::copy(row + at + begin, row + at + end, place_to + begin);
  };
  for (std::int64_t line = lines.begin; line < lines.end; ++line, to += grid.width * kWidth) {
    const std::int64_t y =
        line % grid.height * from.places.stride - from.places.padding + strip.kernel_row;
    if (y < 0 || y >= from.height) {
      std::memset(to, 0, static_cast<std::size_t>(grid.width * kWidth) * sizeof(float));
      continue;
    }
    const float* const row = from.pixels + (line / grid.height * from.height + y) * pixels;
    for (std::int64_t place = 0; place < whole_begin; ++place) {
      copy_part(row, place);
    }
    for (std::int64_t place = whole_begin; place < whole_end; ++place) {
      copy_floats<kWidth>(row + place * step + first, to + place * kWidth);
    }
    for (std::int64_t place = whole_end; place < grid.width; ++place) {
      copy_part(row, place);
    }
  }
}

/// Copies the strip's columns of the places. @pre its width is 4, 6, 16, 32, 48 or 64
GANGWAY_CPU_VERSIONS
void gather_strip(const Patches& from, const PlaceGrid& grid, Lines lines, const Strip& strip,
                  float* to) {
  switch (strip.width) {
    case kLastRows:
      return gather<kLastRows>(from, grid, lines, strip, to);
    case kSumRows:
      return gather<kSumRows>(from, grid, lines, strip, to);
    case kLanes:
      return gather<kLanes>(from, grid, lines, strip, to);
    case 2 * kLanes:
      return gather<2 * kLanes>(from, grid, lines, strip, to);
    case 3 * kLanes:
      return gather<3 * kLanes>(from, grid, lines, strip, to);
    default:
      return gather<4 * kLanes>(from, grid, lines, strip, to);
  }
}

/// Adds left^T right over all places to the sums.
/// @param left   [places, kRows]
/// @param right  [places, width], aligned at 64 bytes
/// @param sums   [kRows, width], rows `stride` apart
template <int kRows>
void add_product(const float* left, const float* right, std::int64_t places, std::int64_t width,
                 float* sums, std::int64_t stride) {
  std::array<const float*, kRows> factors{};
  TileProduct<kRows> product{.left = {&factors, 1},
                             .length = places,
                             .step = kRows,
                             .right = right,
                             .begin = {},
                             .sums = {}};
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    factors[at] = left + row;
    product.begin[at] = product.sums[at] = sums + row * stride;
  }
  tile_function<kRows>(width / kLanes)(product);
}

/// A product rows^T columns over all places, as sums [rows.columns(), columns.columns()].
class Product {
 public:
  Product(const Patches& rows, const Patches& columns, const PlaceGrid& grid)
      : rows_(rows),
        columns_(columns),
        grid_(grid),
        tiles_(tiles_of(rows)),
        strips_(strips_of(columns, kTileColumns)),
        left_(at::empty({grid.lines * grid.width * rows.columns()})),
        sums_(at::zeros({rows.columns(), columns.columns()})) {}

  at::Tensor run() {
    const std::int64_t blocks = (grid_.lines + grid_.lines_at_once() - 1) / grid_.lines_at_once();
    at::parallel_for(0, blocks, 1, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        gather_left(block * grid_.lines_at_once());
      }
    });
    const std::int64_t at_once =
        std::max<std::int64_t>(1, kSumsAtOnce / (rows_.columns() * kTileColumns));
    const auto num_strips = static_cast<std::int64_t>(strips_.size());
    at::parallel_for(0, num_strips, at_once, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += at_once) {
        add_strips(first, std::min(first + at_once, end));
      }
    });
    return sums_;
  }

 private:
  [[nodiscard]] Lines block_at(std::int64_t line) const {
    return {line, std::min(line + grid_.lines_at_once(), grid_.lines)};
  }
  /// Where the rows' factors of a block begin, by tiles: [places, rows] each.
  [[nodiscard]] float* left_of(std::int64_t line) const {
    return left_.mutable_data_ptr<float>() + line * grid_.width * rows_.columns();
  }
  void gather_left(std::int64_t line) {
    const Lines lines = block_at(line);
    float* to = left_of(line);
    for (const Strip& tile : tiles_) {
      gather_strip(rows_, grid_, lines, tile, to);
      to += (lines.end - lines.begin) * grid_.width * tile.width;
    }
  }

  void add_strips(std::int64_t first, std::int64_t last) {
    const at::Tensor right = at::empty({grid_.lines_at_once() * grid_.width * kTileColumns});
    for (std::int64_t line = 0; line < grid_.lines; line += grid_.lines_at_once()) {
      for (std::int64_t at = first; at < last; ++at) {
        const Strip& strip = strips_[static_cast<std::size_t>(at)];
        const Lines lines = block_at(line);
        gather_strip(columns_, grid_, lines, strip, right.mutable_data_ptr<float>());
        const std::int64_t places = (lines.end - lines.begin) * grid_.width;
        for (const Strip& tile : tiles_) {
          const auto add = tile.width == kLastRows ? add_product<kLastRows> : add_product<kSumRows>;
          add(left_of(line) + places * tile.at, right.const_data_ptr<float>(), places, strip.width,
              sums_.mutable_data_ptr<float>() + tile.at * columns_.columns() + strip.at,
              columns_.columns());
        }
      }
    }
  }

  Patches rows_;
  Patches columns_;
  PlaceGrid grid_;
  std::vector<Strip> tiles_;
  std::vector<Strip> strips_;
  at::Tensor left_;
  at::Tensor sums_;
};

/// Returns whether the columns of the product are those of patches, not those of `small`.
bool has_patches_as_columns(const at::Tensor& weight) {
  return weight.size(1) % kLanes == 0 && weight.size(0) % kLastRows == 0;
}

}  // namespace

at::Tensor gathered_weight_gradient(const at::Tensor& large, const at::Tensor& small,
                                    const at::Tensor& weight, const KernelPlaces& places) {
  RECORD_FUNCTION("gangway::weight_gradient", (std::vector<c10::IValue>{small, weight, large}));
  const PlaceGrid grid{small.size(0) * small.size(2), small.size(2), small.size(3)};
  const Patches patches = patches_in(large, places);
  const Patches points = patches_in(small, {.kernel = 1, .stride = 1, .padding = 0});
  const at::Tensor sums = has_patches_as_columns(weight)
                              ? Product(points, patches, grid).run()
                              : Product(patches, points, grid).run().t().contiguous();
  return sums.view({weight.size(0), places.kernel, places.kernel, weight.size(1)})
      .permute({0, 3, 1, 2});
}

bool can_gather_weight_gradient(const at::Tensor& small, const at::Tensor& weight) {
  return small.scalar_type() == at::kFloat && tile_function<kLastRows>(1) != nullptr &&
         (has_patches_as_columns(weight) ||
          (weight.size(0) % kLanes == 0 && weight.size(1) * weight.size(2) % kLastRows == 0));
}

}  // namespace gangway::gan
