// SPDX-License-Identifier: MIT
// Generated lists in the executor, with devices as threads and messages in memory.
#include "bench/pipeline/emulated_device.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "bench/pipeline/emulated_case.hpp"
#include "bench/pipeline/emulated_figures.hpp"
#include "comm/transport/loopback_transport.hpp"

namespace gangway::bench {
namespace {

using pipeline::StageOperation;
using testing::AllOf;
using testing::HasSubstr;

EmulatedCase small_case(int copies, int r1_interval) {
  return make_case({.devices = 4,
                    .copies = copies,
                    .microbatches = 4,
                    .r1_interval = r1_interval,
                    .steps = 2,
                    .step_seconds = 0.02,
                    .hop_seconds = 1e-4});
}

struct Outcome {
  std::vector<DeviceFigures> figures;
  std::vector<std::string> errors;  ///< by worker; empty: it came to its end
};

Outcome run_devices(const EmulatedCase& of, const pipeline::StageSchedule& schedule,
                    std::chrono::milliseconds timeout) {
  const auto count = schedule.workers.size();
  comm::LoopbackHub hub(static_cast<int>(count));
  Outcome outcome{.figures = std::vector<DeviceFigures>(count),
                  .errors = std::vector<std::string>(count)};
  const Clock::time_point beginning = Clock::now();
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < count; ++worker) {
    threads.emplace_back([&, worker] {
      comm::LoopbackTransport transport(hub, static_cast<int>(worker));
      EmulatedDevice device({.transport = transport,
                             .schedule = schedule,
                             .costs = of.costs,
                             .names = of.names,
                             .timeout = timeout});
      try {
        outcome.figures[worker] = device.run(beginning);
      } catch (const CommError& error) {
        outcome.errors[worker] = error.what();
      }
    });
  }
  threads.clear();
  return outcome;
}

/// Takes one of the first worker's sends to the second out of its list.
void drop_send(pipeline::StageSchedule& schedule, bool last) {
  pipeline::StageList& list = schedule.workers[0];
  const auto is_send = [](const pipeline::StageInstruction& one) {
    return one.operation == StageOperation::kSend && one.peer == 1;
  };
  const auto found =
      last ? std::prev(std::ranges::find_if(list.rbegin(), list.rend(), is_send).base())
           : std::ranges::find_if(list, is_send);
  ASSERT_NE(found, list.end());
  list.erase(found);
}

TEST(EmulatedDevice, BringsTheListsOfEveryGeneratorToTheirEnd) {
  for (const std::string name : {"by-pass", "1f1b", "fused", "fill", "one-leaf", "capped"}) {
    for (const auto& [copies, r1] : {std::pair(1, 0), std::pair(1, 2), std::pair(2, 0)}) {
      SCOPED_TRACE(name + " copies " + std::to_string(copies) + " r1 " + std::to_string(r1));
      const EmulatedCase of = small_case(copies, r1);
      const pipeline::StageSchedule schedule = proved_schedule(of, schedule_options(name, 4));
      const pipeline::Simulation simulated =
          pipeline::simulate(schedule, of.costs, pipeline::SimulatedStarts::kKept);
      const Outcome outcome = run_devices(of, schedule, std::chrono::seconds(20));
      ASSERT_THAT(outcome.errors, testing::Each(""));
      const RunFigures figures = run_figures(schedule, simulated, outcome.figures);
      EXPECT_GT(figures.messages, 0);
      EXPECT_GE(figures.step_seconds, 0.9 * simulated.step_seconds());
      for (std::size_t worker = 0; worker < outcome.figures.size(); ++worker) {
        const DeviceFigures& device = outcome.figures[worker];
        EXPECT_TRUE(std::ranges::is_sorted(device.starts));
        EXPECT_NEAR(device.busy_seconds, simulated.workers[worker].busy_seconds, 1e-9);
        EXPECT_EQ(device.peak_stored, simulated.workers[worker].peak_stored);
        EXPECT_EQ(device.peak_leaves, simulated.workers[worker].peak_leaves);
      }
    }
  }
}

TEST(EmulatedDevice, NamesTheLineWhoseMessageDoesNotComeInTime) {
  const EmulatedCase of = small_case(1, 0);
  pipeline::StageSchedule schedule = proved_schedule(of, schedule_options("fill", 4));
  drop_send(schedule, true);
  const Outcome outcome = run_devices(of, schedule, std::chrono::milliseconds(300));
  EXPECT_THAT(outcome.errors[1],
              AllOf(HasSubstr("worker 1, line "), HasSubstr("what worker 0 sends for 'receive "),
                    HasSubstr("has not come in 0.3 s"), HasSubstr("--timeout")));
}

TEST(EmulatedDevice, SeesThatAnotherMessageCame) {
  const EmulatedCase of = small_case(1, 0);
  pipeline::StageSchedule schedule = proved_schedule(of, schedule_options("fill", 4));
  drop_send(schedule, false);
  const Outcome outcome = run_devices(of, schedule, std::chrono::milliseconds(300));
  EXPECT_THAT(outcome.errors[1], AllOf(HasSubstr("what worker 0 sends for 'receive "),
                                       HasSubstr("there came 'send ")));
}

}  // namespace
}  // namespace gangway::bench
