// SPDX-License-Identifier: MIT
// A GPU that its driver throttles: from the driver's library to the advice.
#include <chrono>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/tick_accounting.hpp"
#include "report/advice/advice.hpp"
#include "report/tick.hpp"
#include "worker/gauges/gpu_gauges.hpp"

namespace gangway::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The driver's reasons (nvmlClocksEventReasons).
constexpr unsigned long long kIdle = 0x01;
constexpr unsigned long long kPowerCap = 0x04;
constexpr unsigned long long kHardware = 0x08;
constexpr unsigned long long kHeat = 0x20;
constexpr unsigned long long kHeatInHardware = 0x40;

/// Returns the advice after six ticks of one worker with this GPU; empty: none.
std::string advice_of(unsigned int megahertz, unsigned long long reasons) {
  void* const library = ::dlopen(GANGWAY_FAKE_NVML, RTLD_NOW);
  reinterpret_cast<void (*)(unsigned int, unsigned long long)>(::dlsym(library, "fake_nvml_clock"))(
      megahertz, reasons);
  const auto gauges = GpuGauges::open(GANGWAY_FAKE_NVML, "0000:65:00.0");
  const std::chrono::steady_clock::time_point begin{};
  coordinator::TickAccounting accounting({.num_workers = 1,
                                          .microbatches = 1,
                                          .networks = {"generator", "discriminator"},
                                          .images_per_step = 1,
                                          .total_steps = 6,
                                          .tick_steps = 1});
  accounting.start(begin);
  report::AdviceTracker tracker({});
  for (std::int64_t step = 1; step <= 6; ++step) {
    messages::Progress progress{.step = step, .gauges = gauges->read()};
    progress.losses = {{.microbatch = 0, .by_network = {1.0, 1.0}}};
    progress.figures.parts = {1.0};
    if (const auto tick = accounting.add(Rank(1), progress, begin, 1.0)) {
      (void)tracker.add(nlohmann::json::parse(report::tick_json(*tick)));
    }
  }
  ::dlclose(library);
  for (const report::Advice& advice : tracker.current()) {
    if (advice.rule == "low-clock") {
      return report::advice_line(advice);
    }
  }
  return {};
}

TEST(LowClock, IsToldWithWhatSlowsTheGpu) {
  EXPECT_THAT(advice_of(1188, kPowerCap),
              AllOf(HasSubstr("rank 1 runs at 60% of its highest clock, slowed by power"),
                    HasSubstr("nvidia-smi -pl")));
  EXPECT_THAT(advice_of(1188, kHeat | kIdle),
              AllOf(HasSubstr("slowed by heat"), HasSubstr("cooling: fans")));
  EXPECT_THAT(advice_of(990, kHardware | kHeatInHardware),
              HasSubstr("50% of its highest clock, slowed by heat"));
  EXPECT_THAT(advice_of(990, kPowerCap | kHeat), HasSubstr("slowed by power and heat"));
  EXPECT_THAT(advice_of(990, kHardware), HasSubstr("slowed by hardware"));
}

TEST(LowClock, OfAGpuThatNothingSlowsIsNoTrouble) {
  EXPECT_EQ(advice_of(300, kIdle), "") << "it is idle";
  EXPECT_EQ(advice_of(1900, kPowerCap), "") << "a few percent, as of any GPU at work";
  EXPECT_EQ(advice_of(1980, 0), "");
}

}  // namespace
}  // namespace gangway::worker
