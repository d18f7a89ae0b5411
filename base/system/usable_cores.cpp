// SPDX-License-Identifier: MIT
#include "base/system/usable_cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <sched.h>

#include "base/system/control_groups.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr int kMostReadingThreads = 8;

/// Returns the cores that the quota of one group allows; 0: any number.
double quota_of(const fs::path& group) {
  double quota = 0.0;
  double period = 0.0;
  // Version 2: "QUOTA PERIOD", or "max PERIOD", which does not parse as a number.
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period && period > 0.0) {
    return quota / period;
  }
  std::ifstream quotas(group / "cpu.cfs_quota_us");
  std::ifstream periods(group / "cpu.cfs_period_us");
  return quotas >> quota && periods >> period && quota > 0.0 && period > 0.0 ? quota / period : 0.0;
}

}  // namespace

int quota_cores(const fs::path& root, std::string_view groups) {
  double smallest = 0.0;
  for (const fs::path& group : control_groups(root, groups, "cpu")) {
    const double quota = quota_of(group);
    if (quota > 0.0 && (smallest == 0.0 || quota < smallest)) {
      smallest = quota;
    }
  }
  return static_cast<int>(std::ceil(smallest));
}

int usable_cores() {
  static const int cores = [] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    return ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
  }();
  const int quota = quota_cores(kControlGroups, own_groups());
  return quota > 0 ? std::min(cores, quota) : cores;
}

int reading_threads(int processes, int busy) {
  return std::clamp(usable_cores() / std::max(1, processes) - busy, 1, kMostReadingThreads);
}

}  // namespace gangway
