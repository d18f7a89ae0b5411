// SPDX-License-Identifier: MIT
#include "base/system/open_files.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace gangway {
namespace {

// Some containers allow a billion, and there are programs (a shell's, Open MPI's) that close all
// that they might have: more than a million none of ours needs.
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
