// SPDX-License-Identifier: MIT
#include "worker/memory/memory_watch.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include <unistd.h>

namespace gangway::worker {
namespace {

constexpr std::chrono::milliseconds kResidentIsRead{100};  // oldest reading in use
constexpr std::chrono::milliseconds kRestIsRead{500};
/// A reading may take 1/1000 of the time between readings: malloc walks the heap piece by piece.
constexpr int kTimesItsCost = 1000;
constexpr std::uint64_t kKibibyte = 1024;

/// Returns the peak of resident memory, from "VmHWM:     7080 kB" in a process's status, proc(5).
std::uint64_t peak_in(const std::filesystem::path& status) {
  std::ifstream lines(status);
  for (std::string word; lines >> word;) {
    if (word == "VmHWM:") {
      std::uint64_t kibibytes = 0;
      return lines >> kibibytes ? kKibibyte * kibibytes : 0;
    }
  }
  return 0;
}

std::uint64_t since(std::uint64_t now, std::uint64_t before) { return now - std::min(now, before); }

}  // namespace

MemoryWatch::MemoryWatch(const ComputeDevice& device, const Places& places)
    : device_(device),
      processes_(places.processes),
      cpu_groups_(control_groups(places.groups, own_groups(), "cpu")),
      memory_groups_(control_groups(places.groups, own_groups(), "memory")),
      quota_(quota_periods(cpu_groups_)),
      reported_quota_(quota_) {}

const messages::MemoryFigures& MemoryWatch::now() {
  const Clock::time_point begin = Clock::now();
  if (begin - resident_read_ >= kResidentIsRead) {
    read_resident();
    resident_read_ = begin;
  }
  if (begin >= rest_due_) {
    read_rest();
    const Clock::time_point end = Clock::now();
    rest_due_ = end + std::max<Clock::duration>(kRestIsRead, kTimesItsCost * (end - begin));
  }
  return figures_;
}

void MemoryWatch::read_resident() {
  std::ifstream statm(processes_ / "self/statm");  // second field: resident pages, proc(5)
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  figures_.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void MemoryWatch::read_rest() {
  quota_ = quota_periods(cpu_groups_);
  const MemoryLimit limit = narrowest_limit(memory_groups_, processes_ / "meminfo");
  figures_.used_bytes = limit.used_bytes;
  figures_.limit_bytes = limit.limit_bytes;
  figures_.limit = limit.of;
  figures_.peak_bytes = peak_in(processes_ / "self/status");
  device_.tell_memory(figures_);
}

void MemoryWatch::tell_quota(messages::StepFigures& figures) {
  figures.quota_periods += since(quota_.all, reported_quota_.all);
  figures.throttled_periods += since(quota_.throttled, reported_quota_.throttled);
  reported_quota_ = quota_;
}

}  // namespace gangway::worker
