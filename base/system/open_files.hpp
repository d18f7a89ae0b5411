// SPDX-License-Identifier: MIT
// Raises the number of files that this process may open. Called first by every main().
#pragma once

namespace gangway {

/// Raises the soft limit of RLIMIT_NOFILE to the hard limit. A coordinator needs a lifeline and
/// Open MPI's sockets for each worker; the usual limit of 1,024 suffices for some 500 workers.
/// Children inherit the limit. A refusal is ignored: an open() that fails later reports it.
void raise_open_files() noexcept;

}  // namespace gangway
