// SPDX-License-Identifier: MIT
// Restricts a data set to its first examples (data.limit). Used where data sets are opened. Any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.hpp"

namespace gangway::data {

/// Returns the first `limit` examples of `all`, or all of them if `limit` is 0.
/// @param name  of the set in messages, e.g. "fashion-mnist"
/// @throws ConfigError if there are fewer
[[nodiscard]] std::unique_ptr<Dataset> limited(std::unique_ptr<Dataset> all, std::int64_t limit,
                                               const std::string& name);

}  // namespace gangway::data
