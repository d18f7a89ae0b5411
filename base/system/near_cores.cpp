// SPDX-License-Identifier: MIT
#include "base/system/near_cores.hpp"

#include <cctype>
#include <fstream>
#include <sstream>

#include <sched.h>

#include "base/system/usable_cores.hpp"

namespace gangway {
namespace {

/// Parses a list such as "0-27,56-83"; returns no cores if it is no list.
cpu_set_t cores_in(const std::string& list) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::istringstream ranges(list);
  std::string range;
  while (std::getline(ranges, range, ',')) {
    std::size_t first = 0;
    std::size_t last = 0;
    char dash = 0;
    std::istringstream numbers(range);
    if (!(numbers >> first)) {
      return {};
    }
    last = numbers >> dash >> last ? last : first;
    for (std::size_t core = first; core <= last && core < CPU_SETSIZE; ++core) {
      CPU_SET(core, &cores);
    }
  }
  return cores;
}

}  // namespace

std::string stay_near(const std::filesystem::path& devices, const std::string& address) {
  std::string name;
  for (const char character : address) {  // CUDA writes the digits in capitals
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  std::ifstream file(devices / name / "local_cpulist");
  std::string list;
  (void)std::getline(file, list);
  const cpu_set_t near = cores_in(list);
  (void)usable_cores();  // stores the affinity mask before it changes here
  cpu_set_t given;
  CPU_ZERO(&given);
  if (::sched_getaffinity(0, sizeof given, &given) != 0) {
    return {};
  }
  cpu_set_t both;
  CPU_AND(&both, &near, &given);
  const bool is_nearer = CPU_COUNT(&both) > 0 && !CPU_EQUAL(&both, &given);
  return is_nearer && ::sched_setaffinity(0, sizeof both, &both) == 0 ? list : std::string();
}

}  // namespace gangway
