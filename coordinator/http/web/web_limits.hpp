// SPDX-License-Identifier: MIT
// Limits on the resources that a client of the WebServer may use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gangway::coordinator {

struct WebLimits {
  std::size_t connections = 256;
  std::uint32_t header_bytes = 8192;
  /// From the connection to a complete request, and for the TLS handshake before it.
  std::chrono::milliseconds request{10'000};
  std::chrono::milliseconds idle{30'000};    ///< from an answer to the next request
  std::chrono::milliseconds answer{20'000};  ///< from a request to its answer
  /// For the client to receive an answer or event, plus its bytes at slowest_bytes_per_second.
  std::chrono::milliseconds write{20'000};
  double slowest_bytes_per_second = 32'768;
  std::chrono::milliseconds linger{2'000};  ///< for a refused client to read the refusal
  std::chrono::milliseconds sweep{250};     ///< period at which these limits are checked
};

}  // namespace gangway::coordinator
