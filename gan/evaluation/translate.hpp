// SPDX-License-Identifier: MIT
// Pictures that a network makes of pictures, in evaluation mode, and beside what they were made of.
// Compute thread only.
#pragma once

#include <cstdint>
#include <span>

#include "gan/data/dataset.hpp"
#include "gan/network.hpp"

namespace gangway::gan {

/// Both pictures of some examples of two sides, each [N, C, H, W].
struct SidePictures {
  at::Tensor first;
  at::Tensor second;
};
[[nodiscard]] SidePictures read_sides(const data::Dataset& dataset,
                                      std::span<const std::int64_t> examples);

/// What `generator` makes of `pictures`, on the CPU.
[[nodiscard]] at::Tensor translated(Network& generator, const at::Tensor& pictures);

/// Rows of `columns` pictures: the first sides of so many examples, what `generator` makes of them
/// (left out where it is null), and their second sides; then the same of the next examples.
/// @param examples  as many as fill whole rows: a multiple of `columns`
[[nodiscard]] at::Tensor rows_of_sides(Network* generator, const data::Dataset& dataset,
                                       std::span<const std::int64_t> examples, int columns);

}  // namespace gangway::gan
