// SPDX-License-Identifier: MIT
// Returns this host's name and the addresses at which other hosts reach it. Only addresses on the
// networks that connect the job's hosts count. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// Returns the host's name, for display; "unknown" if it has none. Two hosts may have the same.
[[nodiscard]] std::string host_name();

struct OwnAddress {
  std::string interface;  ///< "eth0"
  std::string address;    ///< numeric, IPv4
  bool operator==(const OwnAddress&) const = default;
};

/// Returns the addresses of all interfaces that are up, except loopback.
[[nodiscard]] std::vector<OwnAddress> own_addresses();

/// Returns the addresses on `networks`, in the order of `addresses`. Returns all if `networks` is
/// empty or names none of them; Open MPI itself reports the latter.
/// @param networks  interfaces and IPv4 subnets, as Open MPI takes them: "eth0,10.77.0.0/24"
[[nodiscard]] std::vector<OwnAddress> on_networks(const std::vector<OwnAddress>& addresses,
                                                  std::string_view networks);

/// Whether `host` is loopback: "localhost", any 127.x.x.x, "::1" or "[::1]". A name that merely
/// begins with one of these is not.
[[nodiscard]] bool is_loopback(std::string_view host);

/// Splits a comma-separated list of addresses or networks.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view list);

}  // namespace gangway
