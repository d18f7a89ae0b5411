// SPDX-License-Identifier: MIT
// Reads from NCCL's own log which network it uses: no NCCL call tells it. main() of
// gangway-worker-cuda makes it before NCCL's first call; it is read once the workers have met.
#pragma once

#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace gangway::comm {

/// A file without a name, for NCCL_DEBUG_FILE with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET.
class NcclLog {
 public:
  NcclLog();
  [[nodiscard]] std::string path() const;
  /// As network_in() of all that was written.
  [[nodiscard]] std::string network() const;

 private:
  FileDescriptor file_;
};

/// "Socket, [0]eth0:10.0.0.1<0>" or "IB, [0]mlx5_0:1/IB ...", of the communicator that came last;
/// empty: the log does not say.
[[nodiscard]] std::string network_in(std::string_view log);

}  // namespace gangway::comm
