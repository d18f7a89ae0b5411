// SPDX-License-Identifier: MIT
// A claim on a file: a lock that the kernel ends with the last process that has the file open, so
// that what a dead process left is told from what a living one uses (also across pid namespaces,
// and where process ids are used again). Any thread.
#pragma once

#include "base/file_descriptor.hpp"

namespace gangway {

/// Takes the claim, for as long as `file` is open. False where another open file has it.
[[nodiscard]] bool claim(const FileDescriptor& file);
/// Takes the right to remove what a dead owner left, for as long as `file` is open. False where an
/// owner lives, or another remover is at it. To `is_claimed` it is no claim: what is being removed
/// has no living owner.
[[nodiscard]] bool claim_to_remove(const FileDescriptor& file);
/// Whether another process has the claim. Asking takes no lock.
[[nodiscard]] bool is_claimed(const FileDescriptor& file);

}  // namespace gangway
