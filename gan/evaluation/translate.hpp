// SPDX-License-Identifier: MIT
// Translates pictures in evaluation mode, and arranges results beside their sources. Compute thread
// only.
#pragma once

#include <cstdint>
#include <span>

#include "data/dataset.hpp"
#include "gan/network.hpp"

namespace gangway::gan {

/// Both pictures of examples with two sides, each [N, C, H, W].
struct SidePictures {
  at::Tensor first;
  at::Tensor second;
};
[[nodiscard]] SidePictures read_sides(const data::Dataset& dataset,
                                      std::span<const std::int64_t> examples);

/// Returns `generator`'s translations of `pictures`, on the CPU.
[[nodiscard]] at::Tensor translated(Network& generator, const at::Tensor& pictures);

/// Returns rows of `columns` pictures: first sides, `generator`'s translations (omitted if it is
/// null), and second sides; then the same for the next examples.
/// @param examples  a multiple of `columns`, so that rows are full
[[nodiscard]] at::Tensor rows_of_sides(Network* generator, const data::Dataset& dataset,
                                       std::span<const std::int64_t> examples, int columns);

}  // namespace gangway::gan
