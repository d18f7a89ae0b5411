// SPDX-License-Identifier: MIT
// Shared by the fuzz targets: limits that a reader must keep for any input, and the entry point for
// libFuzzer and the replay of the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// libFuzzer's spelling.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gangway::fuzz {

/// Ends the process with a line, as a failed check of the sanitizers does.
[[noreturn]] inline void fail(const char* what) {
  (void)std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// Factor of the time limits. A replay in the tests needs more, because a virtual machine charges a
/// thread for time that it did not get.
inline int time_scale = 1;

/// Fails if an input costs more than its limit of the thread's own time, sanitizers included.
class TimeLimit {
 public:
  explicit TimeLimit(int most_milliseconds = 100)
      : most_milliseconds_(most_milliseconds), began_(now()) {}
  ~TimeLimit() {
    if (now() - began_ > std::int64_t{most_milliseconds_} * time_scale * 1'000'000) {
      fail("an input took more than its time");
    }
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  static std::int64_t now() {
    std::timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }
  int most_milliseconds_;
  std::int64_t began_;
};

}  // namespace gangway::fuzz
