// SPDX-License-Identifier: MIT
#include "comm/transport/mpi_abort.hpp"

#include <atomic>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

namespace gangway::comm {

namespace {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): Open MPI calls by name alone
std::atomic<bool> survives = false;
}  // namespace

void survive_mpi_aborts() { survives = true; }

}  // namespace gangway::comm

/// Found before Open MPI's own, as the program comes first where symbols are looked up.
extern "C" [[noreturn, gnu::visibility("default")]] void ompi_rte_abort(int code,
                                                                        const char* format, ...) {
  while (gangway::comm::survives) {
    (void)::pause();
  }
  using Abort = void (*)(int, const char*, ...);
  if (const auto real = reinterpret_cast<Abort>(::dlsym(RTLD_NEXT, "ompi_rte_abort"))) {
    // What a format would be filled with cannot be passed on.
    real(code, format == nullptr ? nullptr : "%s", format);
  }
  std::_Exit(EXIT_FAILURE);
}
