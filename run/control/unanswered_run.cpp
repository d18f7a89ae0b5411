// SPDX-License-Identifier: MIT
#include "run/control/unanswered_run.hpp"

#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/process_identity.hpp"
#include "base/system/poll_until.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/utf8.hpp"
#include "base/this_host.hpp"
#include "run/run_files.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLockLimitBytes = 4096;
constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::milliseconds kMoment{10};
constexpr std::string_view kLauncher = "gangway";  // `gangway run`; a coordinator's is longer

/// Returns a process's name from the kernel, at most 15 characters; empty: no such process.
std::string program_of(std::int64_t pid) {
  if (start_ticks_of(pid) == 0) {
    return {};
  }
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

/// Parses "pid 412 on node-a\n", which RunLock writes. False if the text is another.
bool read_holder(std::string_view text, UnansweredRun& run) {
  constexpr std::string_view kPid = "pid ";
  constexpr std::string_view kOn = " on ";
  text = text.substr(0, text.find('\n'));
  const std::size_t on = text.find(kOn);
  if (!text.starts_with(kPid) || on == std::string_view::npos) {
    return false;
  }
  const auto pid = parse_number<std::int64_t>(text.substr(kPid.size(), on - kPid.size()));
  run.pid = pid.value_or(0);
  run.host = shown(std::string(text.substr(on + kOn.size())));
  return run.pid > 0;
}

/// @param program  name of the process that took the lock last
RunTrace trace_of(const std::string& program) {
  if (program == kLauncher) {
    return RunTrace::kLaunching;
  }
  return program.starts_with(kLauncher) ? RunTrace::kComing : RunTrace::kGone;
}

}  // namespace

UnansweredRun look_at_unanswered(const fs::path& directory) {
  UnansweredRun run;
  const fs::path lock = directory / kLockFile;
  std::optional<std::string> text;
  (void)poll_until(kPatience, kMoment, [&] {
    text = read_small_file(lock, kLockLimitBytes);
    return !text || !text->empty();  // the first holder makes the file before it writes its name
  });
  if (!text || !read_holder(*text, run)) {
    return {};
  }
  std::error_code error;
  const auto taken = fs::last_write_time(lock, error);
  if (!error) {
    run.seconds = std::chrono::duration<double>(fs::file_time_type::clock::now() - taken).count();
  }
  run.trace = run.host == host_name() ? trace_of(program_of(run.pid)) : RunTrace::kOnOtherHost;
  return run;
}

std::string describe(const UnansweredRun& run) {
  const std::string since =
      fmt::format("{}", std::chrono::seconds(static_cast<std::int64_t>(run.seconds)));
  switch (run.trace) {
    case RunTrace::kNone:
      return {};
    case RunTrace::kLaunching:
      return fmt::format("gangway run (pid {}) began it {} ago and starts its processes", run.pid,
                         since);
    case RunTrace::kComing:
      return fmt::format("its coordinator (pid {}) has run it for {} and does not listen yet",
                         run.pid, since);
    case RunTrace::kOnOtherHost:
      return fmt::format("pid {} on host {} started it {} ago: ask on that host", run.pid, run.host,
                         since);
    case RunTrace::kGone:
      return fmt::format(
          "pid {}, which began it {} ago, is gone and recorded no end: it was killed, or the host "
          "went down",
          run.pid, since);
  }
  return {};
}

}  // namespace gangway
