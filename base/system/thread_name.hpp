// SPDX-License-Identifier: MIT
// Names threads for `top -H`, perf and debuggers. The main thread keeps the program's name.
#pragma once

#include <pthread.h>

namespace gangway {

/// Names the calling thread `name`. @pre at most 15 characters: the kernel refuses more
inline void name_this_thread(const char* name) {
  (void)::pthread_setname_np(::pthread_self(), name);
}

}  // namespace gangway
