// SPDX-License-Identifier: MIT
// How many files a process may have open. Called by the mains, before anything else.
#pragma once

namespace gangway {

/// As many as the administrator allows (the hard limit of RLIMIT_NOFILE): a coordinator has a
/// lifeline and Open MPI's sockets for each worker, and the usual soft limit of 1,024 ends at some
/// 500 of them. Children inherit it. Nothing where that is refused: what runs out says so.
void raise_open_files() noexcept;

}  // namespace gangway
