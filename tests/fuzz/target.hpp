// SPDX-License-Identifier: MIT
// What the fuzz targets share: limits that a reader must keep for any input, and the entry that
// libFuzzer and the replay of the corpus call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// libFuzzer's own spelling.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gangway::fuzz {

/// Ends the process with a line, as a failed check of the sanitizers does.
[[noreturn]] inline void fail(const char* what) {
  (void)std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// What limits are multiplied by: a replay in the tests is there to end, not to be fast, and a
/// virtual machine charges a thread for what it does not give it.
inline int time_scale = 1;

/// Complains when an input costs more of the thread's own time than it may, sanitizers included.
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
