// SPDX-License-Identifier: MIT
// A claim on a file: a lock that the kernel ends with the last process that has the file open, so
// that what a dead process left is told from what a living one uses (also across pid namespaces,
// and where process ids are used again). Any thread.
#pragma once

#include "job/file_descriptor.hpp"

namespace gangway {

/// Takes the claim, for as long as `file` is open. False where another open file has it.
[[nodiscard]] bool claim(const FileDescriptor& file);
/// Whether somebody else has it. Nobody is kept from claiming meanwhile.
[[nodiscard]] bool is_claimed(const FileDescriptor& file);

}  // namespace gangway
