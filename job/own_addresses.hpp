// SPDX-License-Identifier: MIT
// At which of this host's addresses other hosts may reach a process: of the networks that connect
// the hosts, not of every one that the host happens to be on. For those who listen: the lifeline
// server and the supervisor. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

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

}  // namespace gangway
