// SPDX-License-Identifier: MIT
// Delays a job on purpose; preloaded into its ranks (LD_PRELOAD). Once a step, the compute thread
// asks for its CPU time (getrusage). On rank PLANTED_RANK, it then sleeps for PLANTED_SECONDS, in
// every second run of PLANTED_TURN steps. A thread that opens a PNG file sleeps for
// PLANTED_READ_SECONDS, at every PLANTED_READ_EVERY-th file. On each rank, every such question of a
// thread leaks PLANTED_LEAK_MIB.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/resource.h>

namespace {

double number(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atof(text) : 0.0;
}

void sleep_for(double seconds) {
  if (seconds <= 0.0) {
    return;
  }
  timespec left{.tv_sec = static_cast<time_t>(seconds),
                .tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)))};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

double planted_seconds() {
  const char* const chosen = std::getenv("PLANTED_RANK");
  const char* const own = std::getenv("OMPI_COMM_WORLD_RANK");
  const bool is_chosen = chosen != nullptr && own != nullptr && std::strcmp(chosen, own) == 0;
  return is_chosen ? number("PLANTED_SECONDS") : 0.0;
}

}  // namespace

extern "C" int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  using Function = int(int, rusage*);
  static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "getrusage"));
  static const double seconds = planted_seconds();
  static const auto turn = static_cast<long>(std::max(1.0, number("PLANTED_TURN")));
  static std::atomic<long> step = 0;
  static const auto leak = static_cast<std::size_t>(1048576.0 * number("PLANTED_LEAK_MIB"));
  if (who == RUSAGE_THREAD && leak > 0) {
    std::memset(std::malloc(leak), 1, leak);
  }
  if (who == RUSAGE_THREAD && step++ / turn % 2 == 1) {
    sleep_for(seconds);
  }
  return real(who, usage);
}

// Replaces the function with which std::ifstream opens files.
extern "C" FILE* fopen64(const char* path, const char* mode) {
  using Function = FILE*(const char*, const char*);
  static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "fopen64"));
  static const double seconds = number("PLANTED_READ_SECONDS");
  static const auto every = static_cast<long>(std::max(1.0, number("PLANTED_READ_EVERY")));
  static std::atomic<long> reads = 0;
  if (std::strstr(path, ".png") != nullptr && ++reads % every == 0) {
    sleep_for(seconds);
  }
  return real(path, mode);
}
