// SPDX-License-Identifier: MIT
// What `top -H`, perf and debuggers call a thread. The main thread keeps the program's name.
#pragma once

#include <pthread.h>

namespace gangway {

/// The calling thread is called `name`: the kernel takes up to 15 characters.
inline void name_this_thread(const char* name) {
  (void)::pthread_setname_np(::pthread_self(), name);
}

}  // namespace gangway
