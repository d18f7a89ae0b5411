// SPDX-License-Identifier: MIT
// Preloaded into a program (LD_PRELOAD): write() and pread() move only a part of what was asked for
// and are interrupted every third time, as the manual allows them to.
#include <atomic>
#include <cerrno>
#include <cstddef>

#include <dlfcn.h>
#include <sys/types.h>

namespace {

/// The library's own function behind ours.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_interrupted() {
  static std::atomic<unsigned> calls{0};
  return ++calls % 3 == 0;
}

/// An odd part, so that nothing stays aligned.
std::size_t part_of(std::size_t bytes) { return bytes > 4 ? bytes * 2 / 3 - 1 : bytes; }

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, std::size_t count) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t)>("write");
  if (fd > 2 && is_interrupted()) {
    errno = EINTR;
    return -1;
  }
  return real(fd, bytes, fd > 2 ? part_of(count) : count);
}

extern "C" ssize_t pread(int fd, void* bytes, std::size_t count, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, std::size_t, off_t)>("pread");
  if (is_interrupted()) {
    errno = EINTR;
    return -1;
  }
  return real(fd, bytes, part_of(count), offset);
}

extern "C" ssize_t pread64(int fd, void* bytes, std::size_t count, off_t offset) {
  return pread(fd, bytes, count, offset);
}
