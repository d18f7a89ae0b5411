// SPDX-License-Identifier: MIT
#include <chrono>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "worker/gauges/gauge_watch.hpp"
#include "worker/gauges/gpu_gauges.hpp"

namespace gangway::worker {
namespace {

constexpr const char* kWhole = "0000:65:00.0";
constexpr const char* kSlice = "0000:66:00.0";

TEST(GpuGauges, AreWhatTheDriverTells) {
  const auto gauges = GpuGauges::open(GANGWAY_FAKE_NVML, kWhole);
  ASSERT_TRUE(gauges);
  const messages::DeviceGauges now = gauges->read();
  EXPECT_EQ(now.busy, 0.75);
  EXPECT_EQ(now.used_bytes, 30'000'000'000U);
  EXPECT_EQ(now.total_bytes, 80'000'000'000U);
  EXPECT_EQ(now.celsius, 41.0);
  EXPECT_EQ(now.clock, 0.5);
  EXPECT_EQ(now.slowed_by, 0U) << "it is idle";
}

TEST(GpuGauges, LeaveOutWhatTheDriverDoesNotTell) {
  EXPECT_FALSE(GpuGauges::open(GANGWAY_FAKE_NVML, kWhole)->read().watts);
  const messages::DeviceGauges now = GpuGauges::open(GANGWAY_FAKE_NVML, kSlice)->read();
  EXPECT_EQ(now.used_bytes, 30'000'000'000U);
  EXPECT_FALSE(now.busy);
  EXPECT_FALSE(now.celsius);
  EXPECT_FALSE(now.clock);
  EXPECT_FALSE(now.slowed_by);
}

TEST(GpuGauges, AreNotThereWithoutTheLibraryOrTheGpu) {
  EXPECT_FALSE(GpuGauges::open("libnvidia-ml-of-nobody.so.1", kWhole));
  EXPECT_FALSE(GpuGauges::open(GANGWAY_FAKE_NVML, "0000:67:00.0"));
}

TEST(GpuGauges, LetTheLibraryGo) {
  void* const library = ::dlopen(GANGWAY_FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto users = reinterpret_cast<int (*)()>(::dlsym(library, "fake_nvml_users"));
  {
    const auto gauges = GpuGauges::open(GANGWAY_FAKE_NVML, kWhole);
    EXPECT_EQ(users(), 1);
  }
  EXPECT_FALSE(GpuGauges::open(GANGWAY_FAKE_NVML, "0000:67:00.0"));
  EXPECT_EQ(users(), 0);
  ::dlclose(library);
}

TEST(GaugeWatch, ReadsAgainAndAgain) {
  const GaugeWatch watch(
      {.library = GANGWAY_FAKE_NVML, .bus = kWhole, .interval = std::chrono::milliseconds(1)});
  const auto warmth = [&watch] {
    const auto newest = watch.newest();
    return newest ? newest->celsius.value_or(0.0) : 0.0;
  };
  while (warmth() == 0.0) {
    std::this_thread::yield();
  }
  const double before = warmth();
  while (warmth() == before) {
    std::this_thread::yield();
  }
  EXPECT_GT(warmth(), before);
}

TEST(GaugeWatch, EndsAtOnceHoweverRarelyItReads) {
  const GaugeWatch watch(
      {.library = GANGWAY_FAKE_NVML, .bus = kWhole, .interval = std::chrono::hours(1)});
  while (!watch.newest()) {
    std::this_thread::yield();
  }
}

TEST(GaugeWatch, TellsNothingWhereThereIsNoDriver) {
  const GaugeWatch watch({.library = "libnvidia-ml-of-nobody.so.1", .bus = kWhole});
  EXPECT_FALSE(watch.newest());
}

}  // namespace
}  // namespace gangway::worker
