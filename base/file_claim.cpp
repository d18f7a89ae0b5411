// SPDX-License-Identifier: MIT
#include "base/file_claim.hpp"

#include <fcntl.h>

namespace gangway {
namespace {

// An owner locks this byte and all behind it. A remover locks only those behind it.
constexpr off_t kOwnersAlone = 0;

/// Returns a lock of the open file, not of the process. One process may hold several; closing
/// another descriptor of the file releases none. The locked bytes need not exist in the file.
/// @param bytes  how many; 0 for all
struct flock range(off_t start, off_t bytes) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = bytes;
  return lock;
}

bool lock_from(const FileDescriptor& file, off_t start) {
  struct flock lock = range(start, 0);
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

}  // namespace

bool claim(const FileDescriptor& file) { return lock_from(file, kOwnersAlone); }

bool claim_to_remove(const FileDescriptor& file) { return lock_from(file, kOwnersAlone + 1); }

bool is_claimed(const FileDescriptor& file) {
  struct flock lock = range(kOwnersAlone, 1);
  return ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace gangway
