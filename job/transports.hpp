// SPDX-License-Identifier: MIT
// Values of `layout.transport`, one row each. Pure.
#pragma once

#include <array>
#include <stdexcept>
#include <string_view>

namespace gangway {

enum class TransportKind { kAuto, kShm, kMpi, kHierarchical, kNccl };
enum class TransportDevice { kAny, kCpu, kGpu };
/// Workers that share memory; all others exchange messages. GPUs share no memory: there, the
/// workers whose gradients leave a host as one sum.
enum class MemorySharing {
  kNobody,
  kWithinHosts,
  kEverybody,  ///< a job on several hosts is refused
};

struct TransportTraits {
  TransportKind kind;
  std::string_view name;  ///< as job files have it
  TransportDevice device;
  MemorySharing sharing;
};

inline constexpr std::array<TransportTraits, 5> kTransports = {{
    {TransportKind::kAuto, "auto", TransportDevice::kAny, MemorySharing::kWithinHosts},
    {TransportKind::kShm, "shm", TransportDevice::kCpu, MemorySharing::kEverybody},
    {TransportKind::kMpi, "mpi", TransportDevice::kCpu, MemorySharing::kNobody},
    {TransportKind::kHierarchical, "hierarchical", TransportDevice::kAny,
     MemorySharing::kWithinHosts},
    {TransportKind::kNccl, "nccl", TransportDevice::kGpu, MemorySharing::kNobody},
}};

[[nodiscard]] constexpr const TransportTraits& traits_of(TransportKind kind) {
  for (const TransportTraits& traits : kTransports) {
    if (traits.kind == kind) {
      return traits;
    }
  }
  throw std::logic_error("a transport has no row: kTransports lists them all");
}

}  // namespace gangway
