// SPDX-License-Identifier: MIT
// Parses quantities with their units, as in cluster files. Each function returns nullopt for any
// other text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gangway {

/// "8": an integer, at least 1.
[[nodiscard]] std::optional<int> parse_count(const std::string& text);
/// "1.5": finite, above 0.
[[nodiscard]] std::optional<double> parse_positive(const std::string& text);
/// "1.5": finite, at least 0.
[[nodiscard]] std::optional<double> parse_amount(const std::string& text);
/// "80GiB", "16GB", "512MiB": bytes.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(const std::string& text);
/// "30us", "1.5ms", "2s", "800ns": seconds.
[[nodiscard]] std::optional<double> parse_seconds(const std::string& text);
/// "1gbit", "400gbit", "900mbit", "3GB/s", "200MB/s": bytes a second, powers of ten.
[[nodiscard]] std::optional<double> parse_rate(const std::string& text);
[[nodiscard]] std::optional<bool> parse_flag(const std::string& text);

}  // namespace gangway
