// SPDX-License-Identifier: MIT
// This host as others know it: its name, and the addresses at which they may reach a process, of
// the networks that connect the hosts, not of every one that the host happens to be on. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

/// For people; "unknown" where it has none. Two hosts may have the same.
[[nodiscard]] std::string host_name();

struct OwnAddress {
  std::string interface;  ///< "eth0"
  std::string address;    ///< numeric, IPv4
  bool operator==(const OwnAddress&) const = default;
};

/// Of the interfaces that are up, loopback left out.
[[nodiscard]] std::vector<OwnAddress> own_addresses();

/// Those of `addresses` that `networks` names, in the order of `addresses`: interfaces and IPv4
/// subnets, comma-separated, as Open MPI takes them ("eth0,10.77.0.0/24"). All of them where it is
/// empty or names none of this host's: Open MPI says so itself.
[[nodiscard]] std::vector<OwnAddress> on_networks(const std::vector<OwnAddress>& addresses,
                                                  std::string_view networks);

/// Whether a name or numeric address means this host alone: "localhost", "127.0.0.1" and its like,
/// "::1", "[::1]". Names that merely begin like one do not.
[[nodiscard]] bool is_loopback(std::string_view host);

/// The parts of a list of addresses or networks.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view list);

}  // namespace gangway
