// SPDX-License-Identifier: MIT
#include "base/system/open_files.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace gangway {
namespace {

// Upper bound, because some containers allow a billion, and some programs (shells, Open MPI) close
// every possible descriptor. Gangway needs fewer than a million.
constexpr rlim_t kMost = 1'048'576;

}  // namespace

void raise_open_files() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const rlim_t wanted = std::min(limit.rlim_max, kMost);
    if (wanted > limit.rlim_cur) {
      limit.rlim_cur = wanted;
      (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
  }
}

}  // namespace gangway
