// SPDX-License-Identifier: MIT
#include "coordinator/http/host_figures.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytesPerKib = 1024;  // /proc/meminfo writes kB and means KiB
constexpr double kMicroseconds = 1e-6;

/// Returns the bytes of a line such as "MemTotal:       16316412 kB" in /proc/meminfo.
std::optional<std::uint64_t> memory(const std::string& wanted) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib && std::getline(file, unit)) {
    if (name == wanted) {
      return kib * kBytesPerKib;
    }
  }
  return std::nullopt;
}

std::optional<double> load_average() {
  double load = 0.0;
  return std::ifstream("/proc/loadavg") >> load ? std::optional(load) : std::nullopt;
}

std::optional<std::uint64_t> resident_bytes() {
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages >> resident)) {
    return std::nullopt;
  }
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> open_descriptors() {
  std::error_code failure;
  const fs::directory_iterator entries("/proc/self/fd", failure);
  if (failure) {
    return std::nullopt;
  }
  // Subtracts the descriptor of the folder itself.
  return static_cast<std::uint64_t>(std::distance(begin(entries), end(entries))) - 1;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + kMicroseconds * static_cast<double>(time.tv_usec);
}

std::optional<double> cpu_seconds() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0
             ? std::optional(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime))
             : std::nullopt;
}

}  // namespace

HostFigures host_figures(const fs::path& run_directory) {
  HostFigures figures{.load_1_minute = load_average(),
                      .memory_bytes = memory("MemTotal:"),
                      .available_memory_bytes = memory("MemAvailable:"),
                      .resident_bytes = resident_bytes(),
                      .open_descriptors = open_descriptors(),
                      .cpu_seconds = cpu_seconds()};
  std::error_code failure;
  const fs::space_info space = fs::space(run_directory, failure);
  if (!failure) {
    figures.disk_bytes = space.capacity;
    figures.available_disk_bytes = space.available;
  }
  return figures;
}

}  // namespace gangway::coordinator
