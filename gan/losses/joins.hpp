// SPDX-License-Identifier: MIT
// Functions without weights of a pass's named tensors; recipes select them by name.
#pragma once

#include <span>
#include <string_view>

#include "gan/torch.hpp"

namespace gangway::gan {

using JoinFunction = at::Tensor (*)(std::span<const at::Tensor> inputs);

/// "interpolation" of (one, other, share): share * one + (1 - share) * other.
///
/// "gaussian-sample" of (code [N, 2 L], noise [N, L]): mean + exp(log variance / 2) * noise. The
/// code's first half are the means (Kingma and Welling, 2014, eq. 10).
///
/// "gram" of features [N, C, H, W]: products of each two maps, [N, C, C], over C H W (Johnson et
/// al., 2016, eq. 3).
///
/// "concatenation" of any [N, …]: side by side, [N, sum of …]. "first-side" and "second-side" of
/// one [N, 2 C, H, W]: half of the channels. "detached" of one: the same, without its graph.
/// @throws InvariantError for an unknown name
[[nodiscard]] JoinFunction join_named(std::string_view name);

}  // namespace gangway::gan
