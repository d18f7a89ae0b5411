// SPDX-License-Identifier: MIT
// A POSIX file descriptor with one owner. Used where streams do not suffice: fsync, flock, sockets.
#pragma once

#include <unistd.h>

#include "base/unique_handle.hpp"

namespace gangway {

using FileDescriptor = UniqueHandle<int, ::close, -1>;

}  // namespace gangway
