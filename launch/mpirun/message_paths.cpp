// SPDX-License-Identifier: MIT
#include "launch/mpirun/message_paths.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include "base/errors.hpp"
#include "base/unique_handle.hpp"

namespace gangway::launch {

void require_network_interface() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return;  // unknown: mpirun reports a fault itself
  }
  const UniqueHandle<ifaddrs*, ::freeifaddrs> owner(list);
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

HostMessages choose_host_messages(int ranks, const std::filesystem::path& folder) {
  constexpr double kSegmentBytes = 4.0 * 1024.0 * 1024.0;  // per rank, for vader (Open MPI 4.1.4)
  struct statvfs status {};
  const bool is_known = ::statvfs(folder.c_str(), &status) == 0;
  const double free_bytes =
      static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
  return is_known && free_bytes < 2.0 * ranks * kSegmentBytes ? HostMessages::kTcp
                                                              : HostMessages::kSharedMemory;
}

}  // namespace gangway::launch
