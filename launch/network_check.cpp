// SPDX-License-Identifier: MIT
#include "launch/network_check.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include "job/errors.hpp"
#include "job/unique_handle.hpp"

namespace gangway::launch {
namespace {

struct InterfacesTraits {
  using type = ifaddrs*;
  static type null() noexcept { return nullptr; }
  static void release(type interfaces) noexcept { ::freeifaddrs(interfaces); }
};

}  // namespace

void require_network_interface() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return;  // cannot be told: mpirun will
  }
  const UniqueHandle<InterfacesTraits> owner(list);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool has_address = entry->ifa_addr != nullptr && (entry->ifa_addr->sa_family == AF_INET ||
                                                            entry->ifa_addr->sa_family == AF_INET6);
    if (has_address && (entry->ifa_flags & IFF_UP) != 0U) {
      return;
    }
  }
  throw EnvironmentError(
      "no network interface is up, and mpirun needs one, if only loopback: ip link set lo up");
}

}  // namespace gangway::launch
