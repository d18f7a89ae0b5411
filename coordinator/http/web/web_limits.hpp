// SPDX-License-Identifier: MIT
// What a client of the WebServer may cost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gangway::coordinator {

struct WebLimits {
  std::size_t connections = 256;
  std::uint32_t header_bytes = 8192;
  /// From the connection to a whole request; where TLS is talked, for its handshake before it too.
  std::chrono::milliseconds request{10'000};
  std::chrono::milliseconds idle{30'000};    ///< from an answer to the next request
  std::chrono::milliseconds answer{20'000};  ///< until there is one
  /// For an answer or an event to be taken, and what its bytes take of a slow network beside.
  std::chrono::milliseconds write{20'000};
  double slowest_bytes_per_second = 32'768;
  std::chrono::milliseconds linger{2'000};  ///< for a refused client to read why
  std::chrono::milliseconds sweep{250};     ///< how exactly all of these are kept
};

}  // namespace gangway::coordinator
