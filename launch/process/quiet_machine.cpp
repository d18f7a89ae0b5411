// SPDX-License-Identifier: MIT
#include "launch/process/quiet_machine.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::chrono::milliseconds kBusyLook{2000};
/// Largest share of all cores that other work may use; a figure is worthless beyond it.
constexpr double kMostBusy = 0.10;

struct CoreTimes {
  std::uint64_t total = 0;
  std::uint64_t idle = 0;
};

CoreTimes core_times(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  // user nice system idle iowait irq softirq steal: proc(5). user includes guests.
  constexpr std::size_t kFields = 8;
  std::array<std::uint64_t, kFields> fields{};
  CoreTimes times;
  for (std::uint64_t& field : fields) {
    words >> field;
    times.total += field;
  }
  times.idle = fields[3] + fields[4];
  return times;
}

std::string cpu_line() {
  std::string line;
  std::ifstream file("/proc/stat");
  std::getline(file, line);
  return line;
}

}  // namespace

double busy_share(const std::string& before, const std::string& after) {
  const CoreTimes begin = core_times(before);
  const CoreTimes end = core_times(after);
  if (end.total <= begin.total) {
    return 0.0;
  }
  return 1.0 -
         static_cast<double>(end.idle - begin.idle) / static_cast<double>(end.total - begin.total);
}

void require_quiet_machine(bool anyway) {
  const std::string before = cpu_line();
  std::this_thread::sleep_for(kBusyLook);
  const double busy = busy_share(before, cpu_line());
  if (busy <= kMostBusy) {
    return;
  }
  const std::string what =
      fmt::format("other processes use {:.0f} % of this machine", 100.0 * busy);
  if (!anyway) {
    throw EnvironmentError(what + ": wait until it is quiet, or measure with --anyway");
  }
  std::cerr << "gangway: NOT QUIET: " << what << std::endl;
}

}  // namespace gangway::launch
