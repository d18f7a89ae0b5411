// SPDX-License-Identifier: MIT
// Preloaded into a program (LD_PRELOAD). Calls that change the disk fail, take long, or hang, as a
// test orders while the program runs. $DISK_FAULTS names a folder with
//
//   faults   lines "CALL WHAT TIMES PATH": a CALL (fsync, rename, unlink) on a path that the
//   regular expression PATH finds fails with the errno
//            WHAT (a number); or, WHAT being "hang", does not return before the line is gone; or,
//            WHAT being "wait:N", takes N milliseconds longer; TIMES a process, 0: always. The test
//            replaces the file whenever it likes.
//   calls    what was done to paths with "/checkpoints" or "/snapshots/" in them, a line "PID CALL
//            PATH RESULT" each
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool is_watched(const std::string& path) {
  return path.find("/checkpoints") != std::string::npos ||
         path.find("/snapshots/") != std::string::npos;
}

constexpr std::string_view kWait = "wait:";
constexpr int kPollMilliseconds = 5;

/// Returns the next library's function of this name.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

const char* folder() {
  static const char* const name = std::getenv("DISK_FAULTS");
  return name;
}

/// Reads by system calls only, because the library's functions call this.
std::string read_whole(const std::string& path) {
  std::string text;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) {
    return text;
  }
  std::array<char, 4096> bytes{};
  for (long got = 0; (got = ::syscall(SYS_read, fd, bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::syscall(SYS_close, fd);
  return text;
}

std::string path_of(int fd) {
  std::array<char, 4096> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size() - 1);
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string();
}

void note(const char* call, const std::string& path, const std::string& result) {
  const std::string line =
      std::to_string(::getpid()) + " " + call + " " + path + " " + result + "\n";
  const std::string file = std::string(folder()) + "/calls";
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file.c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  ::syscall(SYS_write, fd, line.data(), line.size());
  ::syscall(SYS_close, fd);
}

struct Fault {
  std::string line;
  std::string what;  ///< empty: none
};

/// Returns the ordered fault for this call, if there is one.
Fault find_fault(const char* call, const std::string& path) {
  static std::mutex mutex;  // guards the counts
  static std::map<std::string, int> counts;
  std::istringstream lines(read_whole(std::string(folder()) + "/faults"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string what;
    std::string wanted;
    int times = 0;
    if (!(words >> name >> what >> times >> wanted) || name != call ||
        !std::regex_search(path, std::regex(wanted))) {
      continue;
    }
    const std::scoped_lock lock(mutex);
    if (times == 0 || counts[line]++ < times) {
      return {.line = line, .what = what};
    }
  }
  return {};
}

/// @return the errno with which the call must fail; 0: it does not fail
int tamper(const char* call, const std::string& path) {
  if (folder() == nullptr || !is_watched(path)) {
    return 0;
  }
  const int before = errno;
  const Fault fault = find_fault(call, path);
  if (fault.what == "hang") {
    note(call, path, "hangs");
    while (read_whole(std::string(folder()) + "/faults").find(fault.line) != std::string::npos) {
      (void)::poll(nullptr, 0, kPollMilliseconds);
    }
    errno = before;
    return 0;
  }
  if (fault.what.starts_with(kWait)) {
    (void)::poll(nullptr, 0, std::stoi(fault.what.substr(kWait.size())));
    errno = before;
    return 0;
  }
  errno = before;
  return fault.what.empty() ? 0 : std::stoi(fault.what);
}

/// Calls `real` unless the call must fail, and records the result.
template <typename Real>
int call_or_fail(const char* call, const std::string& path, Real real) {
  const int error = tamper(call, path);
  int result = -1;
  if (error == 0) {
    result = real();
  } else {
    errno = error;
  }
  if (folder() != nullptr && is_watched(path)) {
    const int after = errno;
    note(call, path, result == 0 ? "ok" : std::strerror(after));
    errno = after;
  }
  return result;
}

}  // namespace

extern "C" int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  return call_or_fail("fsync", path_of(fd), [&] { return real(fd); });
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return call_or_fail("rename", from,
                      [&] { return real(from_folder, from, to_folder, to, flags); });
}

extern "C" int rename(const char* from, const char* to) {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return call_or_fail("rename", from, [&] { return real(from, to); });
}

extern "C" int unlink(const char* path) {
  static auto* const real = next<int(const char*)>("unlink");
  return call_or_fail("unlink", path, [&] { return real(path); });
}
