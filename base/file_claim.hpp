// SPDX-License-Identifier: MIT
// Claims a file by a lock that the kernel releases when the last process closes the file or dies.
// This tells a dead process's file from a file in use, even across pid namespaces and with reused
// process ids. Any thread.
#pragma once

#include "base/file_descriptor.hpp"

namespace gangway {

/// Takes the claim, for as long as `file` is open. False if another open file has the claim.
[[nodiscard]] bool claim(const FileDescriptor& file);
/// Takes the right to remove a dead owner's file, for as long as `file` is open. False if an owner
/// lives, or another process is removing the file. `is_claimed` does not count this right, because
/// a file under removal has no living owner.
[[nodiscard]] bool claim_to_remove(const FileDescriptor& file);
/// Whether another process has the claim. Takes no lock.
[[nodiscard]] bool is_claimed(const FileDescriptor& file);

}  // namespace gangway
