// SPDX-License-Identifier: MIT
// The check of NCCL's calls.
#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include "base/errors.hpp"

namespace gangway::comm {

/// @throws CommError naming `what` unless `result` is success or, for a non-blocking communicator,
/// still in progress.
inline void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess && result != ncclInProgress) {
    throw CommError(fmt::format("{}: {}; NCCL_DEBUG=WARN makes NCCL say more", what,
                                ncclGetErrorString(result)));
  }
}

}  // namespace gangway::comm
