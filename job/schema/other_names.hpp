// SPDX-License-Identifier: MIT
// Finds Gangway's keys for options of other projects, such as PyTorch's `batch_size`. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gangway {

/// Returns the key in `known` that does what `path` does elsewhere, by its last part:
/// `generator.optimizer.adam.lr` for `generator.learning_rate`.
[[nodiscard]] std::optional<std::string> key_called_otherwise(
    const std::string& path, const std::vector<std::string>& known);

}  // namespace gangway
