// SPDX-License-Identifier: MIT
#include "gan/kernels/tiled_maps.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include "gan/kernels/cpu_versions.hpp"
#include "gan/kernels/tile_product.hpp"

namespace gangway::gan {
namespace {

constexpr int kMapRows = 6;  // of a tile
/// Most results of a block, and most elements of its pixels, which stay with its sums in the second
/// cache from tap to tap.
constexpr std::int64_t kResultsAtOnce = 510;
constexpr std::int64_t kPixelsAtOnce = std::int64_t{1} << 16;
constexpr std::int64_t kLeastTiles = 16;  // of a block: fewer would read the weights too often
constexpr std::int64_t kMostSegments = 32;

/// One side of the pictures. Result i is the sum over taps t of pixel `first` + i * `step` + t
/// times the kernel's element `kernel_first` + t * `kernel_step`.
struct Axis {
  std::int64_t pixels;  ///< of the input
  std::int64_t first;
  std::int64_t step;
  std::int64_t taps;
  std::int64_t kernel_first;
  std::int64_t kernel_step;
  std::int64_t results;  ///< result i is pixel `to_first` + i * `to_step` of the output
  std::int64_t to_first;
  std::int64_t to_step;
};

Axis down(const KernelPlaces& places, std::int64_t pixels, std::int64_t results) {
  return {.pixels = pixels,
          .first = -places.padding,
          .step = places.stride,
          .taps = places.kernel,
          .kernel_first = 0,
          .kernel_step = 1,
          .results = results,
          .to_first = 0,
          .to_step = 1};
}

/// Every stride-th pixel of a transposed convolution's result, from pixel `residue` on. They read
/// the kernel's elements of one residue, backwards.
Axis up(const KernelPlaces& places, std::int64_t pixels, std::int64_t results,
        std::int64_t residue) {
  const std::int64_t least = (residue + places.padding) % places.stride;
  const std::int64_t taps = (places.kernel - least + places.stride - 1) / places.stride;
  return {.pixels = pixels,
          .first = (residue + places.padding - least) / places.stride - (taps - 1),
          .step = 1,
          .taps = taps,
          .kernel_first = least + (taps - 1) * places.stride,
          .kernel_step = -places.stride,
          .results = (results - residue + places.stride - 1) / places.stride,
          .to_first = residue,
          .to_step = places.stride};
}

/// Where the factors of one result begin, and where the result is.
struct Spot {
  std::int64_t picture;  ///< its first element
  std::int64_t y;
  std::int64_t x;
  float* to;  ///< null: nowhere
};

/// Pixels from a spot on.
struct Tap {
  std::int64_t row;
  std::int64_t column;
};

/// Taps [first, first + taps) of the kernel, in order of rows, and channels [begin, begin +
/// length).
struct Group {
  std::int64_t first;
  std::int64_t taps;
  std::int64_t begin;
  std::int64_t length;
};

/// Splits taps * channels factors into groups of kTileDepth at most.
std::vector<Group> groups_of(std::int64_t taps, std::int64_t channels) {
  const std::int64_t at_once = std::clamp<std::int64_t>(kTileDepth / channels, 1, kMostSegments);
  std::vector<Group> groups;
  for (std::int64_t tap = 0; tap < taps; tap += at_once) {
    for (std::int64_t begin = 0; begin < channels; begin += kTileDepth) {
      groups.push_back(
          {tap, std::min(at_once, taps - tap), begin, std::min(kTileDepth, channels - begin)});
    }
  }
  return groups;
}

/// The weights of one map, by strips of up to kTileColumns output channels: [taps * in, columns]
/// each.
class Weights {
 public:
  /// @param weight  [out, in, kernel, kernel]; transposed: [in, out, kernel, kernel]; channels last
  Weights(const at::Tensor& weight, bool is_transposed, const Axis& rows, const Axis& columns)
      : in_(weight.size(is_transposed ? 0 : 1)),
        out_(weight.size(is_transposed ? 1 : 0)),
        taps_(rows.taps * columns.taps),
        packed_(at::empty({taps_ * in_ * out_})) {
    const std::int64_t kernel = weight.size(2);
    const auto* const from = weight.const_data_ptr<float>();
    at::parallel_for(0, strips() * taps_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t strip = i / taps_;
        const std::int64_t tap = i % taps_;
        const std::int64_t place =
            (rows.kernel_first + tap / columns.taps * rows.kernel_step) * kernel +
            columns.kernel_first + tap % columns.taps * columns.kernel_step;
        float* const to = packed_.mutable_data_ptr<float>() +
                          (strip * kTileColumns * taps_ + tap * columns_of(strip)) * in_;
        if (is_transposed) {
          copy_rows(from + place * out_ + strip * kTileColumns, kernel * kernel * out_, strip, to);
        } else {
          turn_rows(from + (strip * kTileColumns * kernel * kernel + place) * in_,
                    kernel * kernel * in_, strip, to);
        }
      }
    });
  }
  [[nodiscard]] std::int64_t strips() const { return (out_ + kTileColumns - 1) / kTileColumns; }
  [[nodiscard]] std::int64_t columns_of(std::int64_t strip) const {
    return std::min(kTileColumns, out_ - strip * kTileColumns);
  }
  /// Returns the row of a tap and input channel.
  [[nodiscard]] const float* row(std::int64_t strip, std::int64_t tap, std::int64_t channel) const {
    return packed_.const_data_ptr<float>() + strip * kTileColumns * taps_ * in_ +
           (tap * in_ + channel) * columns_of(strip);
  }

 private:
  /// Copies [in, columns] from rows that are `step` apart.
  void copy_rows(const float* from, std::int64_t step, std::int64_t strip, float* to) const {
    const std::int64_t columns = columns_of(strip);
    for (std::int64_t row = 0; row < in_; ++row) {
      std::copy_n(from + row * step, columns, to + row * columns);
    }
  }
  /// Copies [in, columns] from columns that are `step` apart.
  void turn_rows(const float* from, std::int64_t step, std::int64_t strip, float* to) const {
    const std::int64_t columns = columns_of(strip);
    for (std::int64_t begin = 0; begin < in_; begin += kLanes) {  // a line of the cache at a time
      const std::int64_t end = std::min<std::int64_t>(begin + kLanes, in_);
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t row = begin; row < end; ++row) {
          to[row * columns + column] = from[column * step + row];
        }
      }
    }
  }

  std::int64_t in_;
  std::int64_t out_;
  std::int64_t taps_;
  at::Tensor packed_;
};

/// Results of one residue of rows and one of columns.
class Map {
 public:
  Map(const at::Tensor& from, const at::Tensor& weight, bool is_transposed,
      const std::optional<at::Tensor>& bias, const Axis& rows, const Axis& columns,
      const at::Tensor& to)
      : from_(from.const_data_ptr<float>()),
        in_(from.size(1)),
        rows_(rows),
        columns_(columns),
        weights_(weight, is_transposed, rows, columns),
        groups_(groups_of(rows.taps * columns.taps, in_)),
        taps_(taps_of(rows, columns)),
        begin_(bias ? bias->contiguous() : at::zeros({to.size(1)})),
        outside_(static_cast<std::size_t>(in_)),
        results_(from.size(0) * rows.results * columns.results),
        at_once_(
            std::clamp<std::int64_t>(kPixelsAtOnce / (in_ * rows.step * columns.step) / kMapRows,
                                     kLeastTiles, kResultsAtOnce / kMapRows) *
            kMapRows),
        to_(to.mutable_data_ptr<float>()),
        out_(to.size(1)),
        height_(to.size(2)),
        width_(to.size(3)) {}

  void run() {
    const std::int64_t blocks = (results_ + at_once_ - 1) / at_once_;
    at::parallel_for(0, blocks * weights_.strips(), 1,
                     [this](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         multiply(i / weights_.strips() * at_once_, i % weights_.strips());
                       }
                     });
  }

 private:
  static std::vector<Tap> taps_of(const Axis& rows, const Axis& columns) {
    std::vector<Tap> taps;
    for (std::int64_t row = 0; row < rows.taps; ++row) {
      for (std::int64_t column = 0; column < columns.taps; ++column) {
        taps.push_back({row, column});
      }
    }
    return taps;
  }

  /// Returns the spots of a block and strip, as many as whole tiles have.
  [[nodiscard]] std::vector<Spot> spots(std::int64_t first, std::int64_t strip) const {
    std::vector<Spot> all;
    all.reserve(static_cast<std::size_t>(at_once_));
    std::int64_t column = first % columns_.results;
    std::int64_t row = first / columns_.results % rows_.results;
    std::int64_t picture = first / columns_.results / rows_.results;
    const std::int64_t last = std::min(first + at_once_, results_);
    for (std::int64_t result = first; result < last; ++result) {
      const std::int64_t y = picture * height_ + rows_.to_first + row * rows_.to_step;
      const std::int64_t x = columns_.to_first + column * columns_.to_step;
      all.push_back({.picture = picture * rows_.pixels * columns_.pixels * in_,
                     .y = rows_.first + row * rows_.step,
                     .x = columns_.first + column * columns_.step,
                     .to = to_ + (y * width_ + x) * out_ + strip * kTileColumns});
      if (++column == columns_.results) {
        column = 0;
        if (++row == rows_.results) {
          row = 0;
          ++picture;
        }
      }
    }
    while (all.size() % kMapRows != 0) {
      all.push_back(all.back());
      all.back().to = nullptr;
    }
    return all;
  }

  /// Returns the channels of the pixel that a tap reads; zeros outside of the picture.
  GANGWAY_INLINE const float* pixel(const Spot& spot, const Tap& tap) const {
    const std::int64_t y = spot.y + tap.row;
    const std::int64_t x = spot.x + tap.column;
    const bool is_inside = y >= 0 && y < rows_.pixels && x >= 0 && x < columns_.pixels;
    return is_inside ? from_ + spot.picture + (y * columns_.pixels + x) * in_ : outside_.data();
  }

  void multiply(std::int64_t first, std::int64_t strip) {
    const std::vector<Spot> block = spots(first, strip);
    const std::int64_t columns = weights_.columns_of(strip);
    // Sums between groups lie side by side: rows of the result, far apart, would share cache sets.
    std::vector<float> sums(block.size() * static_cast<std::size_t>(columns));
    const MultiplyTile<kMapRows> multiply_tile = tile_function<kMapRows>(columns / kLanes);
    std::array<std::array<const float*, kMapRows>, kMostSegments> left;
    for (const Group& group : groups_) {
      TileProduct<kMapRows> product{.left = {left.data(), static_cast<std::size_t>(group.taps)},
                                    .length = group.length,
                                    .step = 1,
                                    .right = weights_.row(strip, group.first, group.begin),
                                    .begin = {},
                                    .sums = {}};
      const bool is_first = &group == &groups_.front();
      const bool is_last = &group == &groups_.back();
      for (std::size_t tile = 0; tile < block.size(); tile += kMapRows) {
        for (std::size_t row = 0; row < kMapRows; ++row) {
          const Spot& spot = block[tile + row];
          float* const sum = sums.data() + (tile + row) * static_cast<std::size_t>(columns);
          product.begin[row] =
              is_first ? begin_.const_data_ptr<float>() + strip * kTileColumns : sum;
          product.sums[row] = is_last && spot.to != nullptr ? spot.to : sum;
          for (std::int64_t i = 0; i < group.taps; ++i) {
            left[static_cast<std::size_t>(i)][row] =
                pixel(spot, taps_[static_cast<std::size_t>(group.first + i)]) + group.begin;
          }
        }
        multiply_tile(product);
      }
    }
  }

  const float* from_;
  std::int64_t in_;
  Axis rows_;
  Axis columns_;
  Weights weights_;
  std::vector<Group> groups_;
  std::vector<Tap> taps_;
  at::Tensor begin_;            ///< [out]
  std::vector<float> outside_;  ///< a pixel of zeros
  std::int64_t results_;
  std::int64_t at_once_;  ///< results of a block
  float* to_;             ///< [N, height, width, out]
  std::int64_t out_;
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace

at::Tensor tiled_convolution(const at::Tensor& large, const at::Tensor& weight,
                             const std::optional<at::Tensor>& bias, const KernelPlaces& places) {
  const at::Tensor small =
      at::empty({large.size(0), weight.size(0), num_places(places, large.size(2)),
                 num_places(places, large.size(3))},
                large.options().memory_format(at::MemoryFormat::ChannelsLast));
  RECORD_FUNCTION("gangway::map", (std::vector<c10::IValue>{small, weight, large}));
  Map(large, weight, /*is_transposed=*/false, bias, down(places, large.size(2), small.size(2)),
      down(places, large.size(3), small.size(3)), small)
      .run();
  return small;
}

at::Tensor tiled_transposed_convolution(const at::Tensor& small, const at::Tensor& weight,
                                        at::IntArrayRef shape, const KernelPlaces& places) {
  const at::Tensor large =
      at::empty(shape, small.options().memory_format(at::MemoryFormat::ChannelsLast));
  RECORD_FUNCTION("gangway::map", (std::vector<c10::IValue>{small, weight, large}));
  for (std::int64_t y = 0; y < places.stride; ++y) {
    for (std::int64_t x = 0; x < places.stride; ++x) {
      Map(small, weight, /*is_transposed=*/true, std::nullopt,
          up(places, small.size(2), shape[2], y), up(places, small.size(3), shape[3], x), large)
          .run();
    }
  }
  return large;
}

bool can_tile_map(std::int64_t channels) {
  return channels % kLanes == 0 && tile_function<kMapRows>(1) != nullptr;
}

}  // namespace gangway::gan
