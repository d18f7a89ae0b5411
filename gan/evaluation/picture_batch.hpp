// SPDX-License-Identifier: MIT
// Shows tensors to gan/pictures, which has no LibTorch. Borrowed: the tensor must outlive the
// result. Any thread.
#pragma once

#include <cstddef>
#include <span>

#include "gan/pictures/png.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// @param tensor  float32 on the CPU, row-major
[[nodiscard]] inline std::span<const float> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// @param images  [N, C, H, W], as of values_of
[[nodiscard]] inline pictures::ImageBatch batch_of(const at::Tensor& images) {
  return {.pixels = values_of(images),
          .count = static_cast<int>(images.size(0)),
          .channels = static_cast<int>(images.size(1)),
          .height = static_cast<int>(images.size(2)),
          .width = static_cast<int>(images.size(3))};
}

}  // namespace gangway::gan
