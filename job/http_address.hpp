// SPDX-License-Identifier: MIT
// Address at which a run's live page listens, as a job file gives it (output.http). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

struct HttpAddress {
  std::string host = "127.0.0.1";  ///< numeric, IPv4 or IPv6 without brackets
  std::uint16_t port = 0;          ///< 0: any free one
  /// Returns whether other hosts can reach it.
  [[nodiscard]] bool is_open_to_others() const;
  bool operator==(const HttpAddress&) const = default;
};

/// Parses "8080" (of loopback), "localhost:8080", "10.0.0.7", "10.0.0.7:8080", "[::1]:8080",
/// "[::]". Returns nothing for all else. Refuses host names, because a look-up may take minutes.
[[nodiscard]] std::optional<HttpAddress> parse_http_address(std::string_view text);

}  // namespace gangway
