// SPDX-License-Identifier: MIT
#include "base/system/control_groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>

namespace gangway {
namespace {

namespace fs = std::filesystem;

/// Returns the number in a file; nothing if the file is missing or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::uint64_t number = 0;
  return std::ifstream(file) >> number ? std::optional(number) : std::nullopt;
}

/// Returns the sum of the numbers after these words, in a file of words and numbers.
std::uint64_t sum_in(const fs::path& file, std::initializer_list<std::string_view> names) {
  std::ifstream lines(file);
  std::uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (std::ranges::find(names, std::string_view(line).substr(0, space)) != names.end()) {
      sum += std::strtoull(line.c_str() + std::min(space, line.size()), nullptr, 10);
    }
  }
  return sum;
}

/// Returns use and limit of a group. Use excludes pages of files, which the kernel can free.
MemoryLimit limit_of(const fs::path& group) {
  MemoryLimit limit{.of = "control group"};
  if (const auto most = number_in(group / "memory.max")) {
    const std::uint64_t files = sum_in(group / "memory.stat", {"inactive_file", "active_file"});
    const std::uint64_t used = number_in(group / "memory.current").value_or(0);
    limit.limit_bytes = *most;
    limit.used_bytes = used - std::min(used, files);
  } else if (const auto old = number_in(group / "memory.limit_in_bytes")) {
    const std::uint64_t files =
        sum_in(group / "memory.stat", {"total_inactive_file", "total_active_file"});
    const std::uint64_t used = number_in(group / "memory.usage_in_bytes").value_or(0);
    limit.limit_bytes = *old;  // about 2^63 in a group without a limit
    limit.used_bytes = used - std::min(used, files);
  }
  return limit;
}

MemoryLimit limit_of_host(const fs::path& meminfo) {
  constexpr std::uint64_t kKibibyte = 1024;
  const std::uint64_t all = kKibibyte * sum_in(meminfo, {"MemTotal:"});
  return {.used_bytes = all - std::min(all, kKibibyte * sum_in(meminfo, {"MemAvailable:"})),
          .limit_bytes = all,
          .of = "host"};
}

}  // namespace

std::string own_groups() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> control_groups(const fs::path& root, std::string_view groups,
                                     std::string_view controller) {
  std::vector<fs::path> folders;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) {
      continue;
    }
    // Version 1 lists the controllers of each hierarchy: "cpu" or "cpu,cpuacct".
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.substr(0, controllers.find(',')) != controller) {
      continue;
    }
    const fs::path top = controllers.empty() ? root : root / controller;
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();;
         group = group.parent_path()) {
      folders.push_back(top / group);
      if (group.empty()) {
        break;
      }
    }
  }
  return folders;
}

QuotaPeriods quota_periods(const std::vector<fs::path>& groups) {
  QuotaPeriods most;
  for (const fs::path& group : groups) {
    const fs::path file = group / "cpu.stat";
    const QuotaPeriods own{.all = sum_in(file, {"nr_periods"}),
                           .throttled = sum_in(file, {"nr_throttled"})};
    if (own.throttled > most.throttled || most.all == 0) {
      most = own;
    }
  }
  return most;
}

double MemoryLimit::share() const {
  return limit_bytes > 0 ? static_cast<double>(used_bytes) / static_cast<double>(limit_bytes) : 0.0;
}

MemoryLimit narrowest_limit(const std::vector<fs::path>& groups, const fs::path& meminfo) {
  MemoryLimit narrowest = limit_of_host(meminfo);
  for (const fs::path& group : groups) {
    if (MemoryLimit own = limit_of(group); own.share() > narrowest.share()) {
      narrowest = std::move(own);
    }
  }
  return narrowest;
}

MemoryLimit smallest_limit(const std::vector<fs::path>& groups, const fs::path& meminfo) {
  MemoryLimit smallest = limit_of_host(meminfo);
  for (const fs::path& group : groups) {
    MemoryLimit own = limit_of(group);
    if (own.limit_bytes > 0 && own.limit_bytes < smallest.limit_bytes) {
      smallest = std::move(own);
    }
  }
  return smallest;
}

}  // namespace gangway
