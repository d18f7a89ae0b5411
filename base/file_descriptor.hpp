// SPDX-License-Identifier: MIT
// A POSIX file descriptor with one owner. Used where streams do not suffice: fsync, flock, sockets.
#pragma once

#include <unistd.h>

#include "base/unique_handle.hpp"

namespace gangway {

struct FileDescriptorTraits {
  using type = int;
  static type null() noexcept { return -1; }
  static void release(type descriptor) noexcept { (void)::close(descriptor); }
};
using FileDescriptor = UniqueHandle<FileDescriptorTraits>;

}  // namespace gangway
