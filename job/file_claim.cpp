// SPDX-License-Identifier: MIT
#include "job/file_claim.hpp"

#include <fcntl.h>

namespace gangway {
namespace {

/// Of the open file, not of the process: one process may have several, and none ends when another
/// descriptor of the same file is closed.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

bool claim(const FileDescriptor& file) {
  struct flock lock = whole_file();
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

bool is_claimed(const FileDescriptor& file) {
  struct flock lock = whole_file();
  return ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace gangway
