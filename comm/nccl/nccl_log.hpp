// SPDX-License-Identifier: MIT
// Reads from NCCL's own log which network it uses, because no NCCL call tells it. Made by main() of
// gangway-worker-cuda before NCCL's first call; read after the workers have met.
#pragma once

#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace gangway::comm {

/// A nameless file for NCCL_DEBUG_FILE, with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET.
class NcclLog {
 public:
  NcclLog();
  [[nodiscard]] std::string path() const;
  /// Returns network_in() of the whole log.
  [[nodiscard]] std::string network() const;

 private:
  FileDescriptor file_;
};

/// Returns the network of the latest communicator, such as "Socket, [0]eth0:10.0.0.1<0>" or "IB,
/// [0]mlx5_0:1/IB ..."; empty if the log has none.
[[nodiscard]] std::string network_in(std::string_view log);

}  // namespace gangway::comm
