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

/// Replaces Open MPI's function because the program's symbols are looked up first.
extern "C" [[noreturn, gnu::visibility("default")]] void ompi_rte_abort(int code,
                                                                        const char* format, ...) {
  while (gangway::comm::survives) {
    (void)::pause();
  }
  using Abort = void (*)(int, const char*, ...);
  if (const auto real = reinterpret_cast<Abort>(::dlsym(RTLD_NEXT, "ompi_rte_abort"))) {
    // The format's arguments cannot be forwarded.
    real(code, format == nullptr ? nullptr : "%s", format);
  }
  std::_Exit(EXIT_FAILURE);
}
