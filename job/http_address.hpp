// SPDX-License-Identifier: MIT
// Where a run's live page listens, as a job file says it (output.http). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

struct HttpAddress {
  std::string host = "127.0.0.1";  ///< numeric, IPv4 or IPv6 without brackets
  std::uint16_t port = 0;          ///< 0: any free one
  /// Others than this host's processes can reach it.
  [[nodiscard]] bool is_open_to_others() const;
  bool operator==(const HttpAddress&) const = default;
};

/// "8080" (of loopback), "localhost:8080", "10.0.0.7", "10.0.0.7:8080", "[::1]:8080", "[::]".
/// Nothing for all else, host names included: asking for theirs may take minutes.
[[nodiscard]] std::optional<HttpAddress> parse_http_address(std::string_view text);

}  // namespace gangway
