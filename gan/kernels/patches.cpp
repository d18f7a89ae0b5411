// SPDX-License-Identifier: MIT
#include "gan/kernels/patches.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/Parallel.h>

namespace gangway::gan {
namespace {

/// The pixels [begin, end) of a kernel's row that lie inside the picture.
struct Inside {
  std::int64_t begin;
  std::int64_t end;
};

Inside inside(std::int64_t first_pixel, std::int64_t kernel, std::int64_t pixels) {
  const std::int64_t begin = std::clamp<std::int64_t>(-first_pixel, 0, kernel);
  return {begin, std::clamp(pixels - first_pixel, begin, kernel)};
}

/// Calls `body` for each kernel row at each place that overlaps a picture of height x width pixels.
/// `row` counts rows of all patches.
template <typename Body>
void for_each_row(const KernelPlaces& places, std::int64_t height, std::int64_t width,
                  const Body& body) {
  const std::int64_t rows = num_places(places, height);
  const std::int64_t columns = num_places(places, width);
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t left = j * places.stride - places.padding;
      const Inside across = inside(left, places.kernel, width);
      for (std::int64_t k = 0; k < places.kernel; ++k, ++row) {
        const std::int64_t y = i * places.stride - places.padding + k;
        body(row, y >= 0 && y < height ? across : Inside{0, 0}, y * width + left);
      }
    }
  }
}

}  // namespace

at::Tensor patches_of(const at::Tensor& pictures, const KernelPlaces& places) {
  const std::int64_t channels = pictures.size(1);
  const std::int64_t height = pictures.size(2);
  const std::int64_t width = pictures.size(3);
  const std::int64_t of_one = num_places(places, height) * num_places(places, width);
  const std::int64_t row_elements = places.kernel * channels;
  const at::Tensor pixels = pictures.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor patches =
      at::empty({pictures.size(0) * of_one, places.kernel * row_elements}, pictures.options());
  const auto pixel_bytes = static_cast<std::int64_t>(pictures.element_size()) * channels;
  const std::int64_t row_bytes = places.kernel * pixel_bytes;
  const auto* from = static_cast<const char*>(pixels.const_data_ptr());
  auto* to = static_cast<char*>(patches.mutable_data_ptr());
  const auto copy_picture = [&](std::int64_t picture) {
    const char* const source = from + picture * height * width * pixel_bytes;
    char* const target = to + picture * of_one * places.kernel * row_bytes;
    for_each_row(places, height, width,
                 [&](std::int64_t row, const Inside& part, std::int64_t first_pixel) {
                   char* const begin = target + row * row_bytes;
                   char* const first = begin + part.begin * pixel_bytes;
                   const std::int64_t bytes = (part.end - part.begin) * pixel_bytes;
                   std::memset(begin, 0, static_cast<std::size_t>(first - begin));
                   if (bytes > 0) {
                     std::memcpy(first, source + (first_pixel + part.begin) * pixel_bytes,
                                 static_cast<std::size_t>(bytes));
                   }
                   std::memset(first + bytes, 0,
                               static_cast<std::size_t>(row_bytes - bytes - (first - begin)));
                 });
  };
  at::parallel_for(0, pictures.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t picture = begin; picture < end; ++picture) {
      copy_picture(picture);
    }
  });
  return patches;
}

at::Tensor sum_of_patches(const at::Tensor& patches, at::IntArrayRef shape,
                          const KernelPlaces& places) {
  const std::int64_t channels = shape[1];
  const std::int64_t height = shape[2];
  const std::int64_t width = shape[3];
  const std::int64_t row_elements = places.kernel * channels;
  const std::int64_t of_one =
      num_places(places, height) * num_places(places, width) * places.kernel * row_elements;
  // at::zeros ignores the memory format.
  at::Tensor pictures =
      at::empty(shape, patches.options().memory_format(at::MemoryFormat::ChannelsLast)).zero_();
  const at::Tensor rows = patches.contiguous();
  const auto* from = rows.const_data_ptr<float>();
  auto* to = pictures.mutable_data_ptr<float>();
  at::parallel_for(0, shape[0], 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t picture = first; picture < last; ++picture) {
      const float* const source = from + picture * of_one;
      float* const target = to + picture * height * width * channels;
      for_each_row(places, height, width,
                   [&](std::int64_t row, const Inside& part, std::int64_t first_pixel) {
                     const float* const addend = source + row * row_elements;
                     float* const sum = target + first_pixel * channels;
                     for (std::int64_t i = part.begin * channels; i < part.end * channels; ++i) {
                       sum[i] += addend[i];
                     }
                   });
    }
  });
  return pictures;
}

}  // namespace gangway::gan
