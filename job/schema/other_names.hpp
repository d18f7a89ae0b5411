// SPDX-License-Identifier: MIT
// Gangway's keys for other projects' options, as PyTorch's `batch_size`. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gangway {

/// The key of `known` that does what `path` does elsewhere, by its last part:
/// `generator.learning_rate` is `generator.optimizer.adam.lr`.
[[nodiscard]] std::optional<std::string> key_called_otherwise(
    const std::string& path, const std::vector<std::string>& known);

}  // namespace gangway
