// SPDX-License-Identifier: MIT
// Makes a narrow network of a wide one of the same family, by whole channels: the largest, the same
// in all tensors that share them. Called by rules and by workers before step 0. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job/models/architecture.hpp"

namespace gangway {

/// A tensor's values, row-major.
struct ChannelTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  bool operator==(const ChannelTensor&) const = default;
};

/// By names as in statistic_names: "0/norm.weight".
using NetworkValues = std::map<std::string, ChannelTensor>;

/// Returns why `narrow` cannot be made of `wide`'s channels; empty: it can.
[[nodiscard]] std::string narrowing_complaint(const Architecture& wide, const Architecture& narrow);

/// Returns the values of `narrow`, trained tensors and statistics: `wide`'s, without the smallest
/// channels. A channel's size is the sum of the absolute weights of its filters (Li et al., 2017,
/// section 3.1). Channels of a residual sum have the filters of all its terms. Of grouped
/// convolutions whole groups stay. Of equal channels the first stay. Sums are in float64 in one
/// order, so all workers choose alike.
/// @param values  of all tensors of `wide`
/// @pre narrowing_complaint is empty
[[nodiscard]] NetworkValues narrowed(const Architecture& wide, const Architecture& narrow,
                                     const NetworkValues& values);

}  // namespace gangway
