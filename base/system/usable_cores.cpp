// SPDX-License-Identifier: MIT
#include "base/system/usable_cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include <sched.h>

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr int kMostReadingThreads = 8;

/// Cores that the quota of one group allows; 0: any number.
double quota_of(const fs::path& group) {
  double quota = 0.0;
  double period = 0.0;
  // Version 2: "QUOTA PERIOD", or "max PERIOD", which is no number.
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period && period > 0.0) {
    return quota / period;
  }
  std::ifstream quotas(group / "cpu.cfs_quota_us");
  std::ifstream periods(group / "cpu.cfs_period_us");
  return quotas >> quota && periods >> period && quota > 0.0 && period > 0.0 ? quota / period : 0.0;
}

/// Of this group and those above it the smallest.
double smallest_quota(const fs::path& root, fs::path group) {
  double smallest = 0.0;
  while (true) {
    const double quota = quota_of(root / group);
    if (quota > 0.0 && (smallest == 0.0 || quota < smallest)) {
      smallest = quota;
    }
    if (group.empty()) {
      return smallest;
    }
    group = group.parent_path();
  }
}

}  // namespace

int quota_cores(const fs::path& root, std::string_view groups) {
  double smallest = 0.0;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && controllers != "cpu" && controllers != "cpu,cpuacct") {
      continue;
    }
    const double quota = smallest_quota(is_version_2 ? root : root / "cpu", group);
    if (quota > 0.0 && (smallest == 0.0 || quota < smallest)) {
      smallest = quota;
    }
  }
  return static_cast<int>(std::ceil(smallest));
}

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int cores =
      ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  const int quota = quota_cores("/sys/fs/cgroup", groups);
  return quota > 0 ? std::min(cores, quota) : cores;
}

int reading_threads(int processes, int busy) {
  return std::clamp(usable_cores() / std::max(1, processes) - busy, 1, kMostReadingThreads);
}

}  // namespace gangway
