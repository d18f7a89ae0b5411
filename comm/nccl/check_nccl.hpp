// SPDX-License-Identifier: MIT
// Checks the results of NCCL's calls.
#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include "base/errors.hpp"

namespace gangway::comm {

/// @throws CommError naming `what` unless `result` is ncclSuccess, or ncclInProgress, which a
/// non-blocking communicator returns.
inline void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess && result != ncclInProgress) {
    throw CommError(fmt::format("{}: {}; NCCL_DEBUG=WARN makes NCCL say more", what,
                                ncclGetErrorString(result)));
  }
}

}  // namespace gangway::comm
