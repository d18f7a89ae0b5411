// SPDX-License-Identifier: MIT
// Lays out the shared memory through which a host's workers signal each other, and sleeps on it.
// Every field that changes after the start is atomic. Called by comm/host/host_group.cpp.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gangway::comm {

inline constexpr std::uint64_t kMagic = 0x3153594157474e47;  // "GNGWAYS1": this layout
inline constexpr std::size_t kMostAllocations = 64;          // most own allocations of a member
inline constexpr std::size_t kCacheLine = 64;

/// A member's progress through the meeting. Only grows.
enum Progress : std::uint32_t { kMade = 0, kAllocated = 1, kSeenAll = 2, kMappedAll = 3 };

struct alignas(kCacheLine) Flag {
  std::atomic<std::uint64_t> value;
};
/// The start of a member's control segment, followed by the agreed number of flags. Other members
/// read it; all members write the first member's bell.
struct alignas(kCacheLine) Control {
  std::atomic<std::uint32_t> progress;  // everything up to the bell is valid from kAllocated on
  std::int32_t worker;
  std::uint64_t magic;
  std::int64_t epoch;
  std::uint64_t fingerprint;
  std::uint64_t num_own;
  std::uint64_t num_shared;
  std::array<std::uint64_t, kMostAllocations> own_sizes;  // floats
  alignas(kCacheLine) std::atomic<std::uint32_t> bell;
  alignas(kCacheLine) std::atomic<std::uint32_t> waiters;

  [[nodiscard]] Flag* flags() { return reinterpret_cast<Flag*>(this + 1); }
  [[nodiscard]] const Flag* flags() const { return reinterpret_cast<const Flag*>(this + 1); }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "works between processes");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "works between processes");
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "is a futex word");

inline std::size_t control_bytes(std::size_t num_flags) {
  return sizeof(Control) + num_flags * sizeof(Flag);
}

/// Sleeps while `word` equals `seen`, at most for `limit`; may wake early. Not FUTEX_PRIVATE,
/// because each process maps the word at another address.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::chrono::microseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec duration{
      .tv_sec = seconds.count(),
      .tv_nsec = std::chrono::nanoseconds(limit - seconds).count(),
  };
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &duration, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace gangway::comm
