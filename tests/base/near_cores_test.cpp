// SPDX-License-Identifier: MIT
#include "base/system/near_cores.hpp"

#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "base/system/usable_cores.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

cpu_set_t own_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  (void)::sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

class NearCores : public ::testing::Test {
 protected:
  /// Returns stay_near's line for a device with this list, and the number of its thread's cores.
  std::pair<std::string, int> near(const std::string& list) {
    std::filesystem::create_directories(folder_.path() / "0000:1b:00.0");
    folder_.write("0000:1b:00.0/local_cpulist", list);
    std::pair<std::string, int> found;
    std::thread([&] {  // only this thread is pinned
      found.first = stay_near(folder_.path(), "0000:1B:00.0");
      std::thread([&] {
        const cpu_set_t cores = own_cores();
        found.second = CPU_COUNT(&cores);
      }).join();
    })
        .join();
    return found;
  }
  const testing::ScratchFolder folder_;
};

TEST_F(NearCores, HaveTheThreadAndThoseThatItBegins) {
  const cpu_set_t all = own_cores();
  if (CPU_COUNT(&all) < 2) {
    GTEST_SKIP() << "one core";
  }
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) {
    ++first;
  }
  const int usable = usable_cores();
  const std::string core = std::to_string(first);
  EXPECT_EQ(near(core + "-" + core + ",1000-1001\n"),
            std::pair(core + "-" + core + ",1000-1001", 1));
  EXPECT_EQ(usable_cores(), usable);
}

TEST_F(NearCores, LeaveAThreadWhereItIs) {
  const cpu_set_t all = own_cores();
  const std::pair nothing(std::string(), CPU_COUNT(&all));
  EXPECT_EQ(near("0-1023\n"), nothing);     // near to all cores
  EXPECT_EQ(near("1022-1023\n"), nothing);  // near to no core that the thread may use
  EXPECT_EQ(near("\n"), nothing);
  EXPECT_EQ(near("some"), nothing);
}

}  // namespace
}  // namespace gangway
