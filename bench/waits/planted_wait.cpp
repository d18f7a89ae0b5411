// SPDX-License-Identifier: MIT
// Preloaded into the ranks of a job (LD_PRELOAD): the compute thread of one of them, PLANTED_RANK,
// sleeps for PLANTED_SECONDS once a step, where it asks what it has used of its core.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/resource.h>

namespace {

double planted_seconds() {
  const char* const seconds = std::getenv("PLANTED_SECONDS");
  const char* const chosen = std::getenv("PLANTED_RANK");
  const char* const own = std::getenv("OMPI_COMM_WORLD_RANK");
  const bool is_chosen = chosen != nullptr && own != nullptr && std::strcmp(chosen, own) == 0;
  return is_chosen && seconds != nullptr ? std::atof(seconds) : 0.0;
}

}  // namespace

extern "C" int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  using Function = int(int, rusage*);
  static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "getrusage"));
  static const double seconds = planted_seconds();
  if (who == RUSAGE_THREAD && seconds > 0.0) {
    timespec left{.tv_sec = static_cast<time_t>(seconds),
                  .tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)))};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }
  return real(who, usage);
}
