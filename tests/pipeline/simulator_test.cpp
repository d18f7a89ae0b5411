// SPDX-License-Identifier: MIT
// Times and holdings that can be counted by hand; whole schedules are in
// simulated_bubbles_test.cpp.
#include "pipeline/simulator/simulator.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "pipeline/staged/text.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::HasSubstr;

StageList list(const std::string& text) { return list_from_text(text, kNetworkNames, "test"); }

/// Forward 1 s, input gradient 2, weight gradient 3, update 0.5; one chunk of each network.
Costs costs() {
  Costs costs;
  for (int network = 0; network < 2; ++network) {
    costs.chunks.add({{.forward_seconds = 1.0,
                       .input_gradient_seconds = 2.0,
                       .weight_gradient_seconds = 3.0,
                       .sweep_seconds = {1.0, 2.0, 4.0, 8.0},
                       .update_seconds = 0.5,
                       .stored_bytes = 100,
                       .gradient_bytes = 1000}});
  }
  return costs;
}

TEST(Simulator, AddsUpTheWorkOfOneWorker) {
  const Simulation simulation =
      simulate({{list("forward generator.0 keeps\n"
                      "forward generator.0 microbatch=1 keeps\n"
                      "input-gradient generator.0 lets-go\n"
                      "open-leaf generator.0\n"
                      "backward generator.0 microbatch=1 lets-go\n"
                      "weight-gradient generator.0\n"
                      "close-leaf generator.0\n"
                      "first-sweep generator.0\nsecond-sweep generator.0\n"
                      "third-sweep generator.0\nfourth-sweep generator.0\n"
                      "reduce generator.0 last\nawait generator.0 version=1\n")}},
               costs());
  const SimulatedWorker& worker = simulation.workers.front();
  EXPECT_EQ(simulation.seconds, 1 + 1 + 2 + 5 + 3 + 15 + 0.5);
  EXPECT_EQ(worker.busy_seconds, simulation.seconds);
  EXPECT_EQ(worker.exposed_seconds, 0.0);
  EXPECT_EQ(worker.peak_stored, 2);
  EXPECT_EQ(worker.peak_leaves, 1);
  EXPECT_EQ(worker.peak_bytes, 1100);
}

TEST(Simulator, SlowsWorkersDown) {
  Costs slow = costs();
  slow.slowness = {1.0, 1.5};
  const Simulation simulation =
      simulate({{list("forward generator.0\n"), list("forward generator.0\n")}}, slow);
  EXPECT_EQ(simulation.workers[0].busy_seconds, 1.0);
  EXPECT_EQ(simulation.workers[1].busy_seconds, 1.5);
  EXPECT_EQ(simulation.seconds, 1.5);
}

/// Worker 0 makes two tensors of 10 bytes, which worker 1 waits for.
StageSchedule two_messages() {
  return {{list("forward generator.0\nsend forward generator.0 to=1 bytes=10\n"
                "send forward generator.0 microbatch=1 to=1 bytes=10\n"),
           list("receive forward generator.0 from=0 bytes=10\n"
                "receive forward generator.0 microbatch=1 from=0 bytes=10\n"
                "free forward generator.0 bytes=10\nforward discriminator.0\n")}};
}

TEST(Simulator, SendsTheMessagesOfAPairOneAfterAnother) {
  Costs slow = costs();
  slow.links.within = {.latency_seconds = 0.25, .bytes_per_second = 5.0};
  const Simulation simulation = simulate(two_messages(), slow);
  EXPECT_EQ(simulation.workers[0].busy_seconds, 1.0);
  // Both take 2 s of the link, from 1 s on; the second is there at 5.25 s.
  EXPECT_EQ(simulation.workers[1].message_seconds, 5.25);
  EXPECT_EQ(simulation.seconds, 6.25);
  EXPECT_EQ(simulation.workers[1].peak_bytes, 20);
}

TEST(Simulator, KnowsLinksBetweenHostsAndOfPairs) {
  Costs apart = costs();
  apart.links.within.latency_seconds = 100.0;
  apart.links.between.latency_seconds = 0.5;
  apart.links.host_of = {0, 1};
  EXPECT_EQ(simulate(two_messages(), apart).seconds, 2.5);
  apart.links.pairs[{0, 1}].latency_seconds = 7.0;
  EXPECT_EQ(simulate(two_messages(), apart).seconds, 9.0);
}

TEST(Simulator, SharesTheLinkOfAHostInTheOrderOfTime) {
  // Workers 0 and 1 are one host, which sends to 2 and 3 on another. Worker 0 sends last, though
  // its list is looked at first.
  Costs apart = costs();
  apart.links.between.bytes_per_second = 10.0;
  apart.links.host_of = {0, 0, 1, 1};
  const StageSchedule schedule{
      {list("forward generator.0\nforward generator.0 microbatch=1\n"
            "send forward generator.0 to=2 bytes=10\n"),
       list("forward generator.0\nsend forward generator.0 microbatch=1 to=3 bytes=20\n"),
       list("receive forward generator.0 from=0 bytes=10\n"),
       list("receive forward generator.0 microbatch=1 from=1 bytes=20\n")}};
  const Simulation simulation = simulate(schedule, apart);
  EXPECT_EQ(simulation.workers[3].message_seconds, 3.0);
  EXPECT_EQ(simulation.workers[2].message_seconds, 4.0) << "behind the other, from 3 s on";
}

/// Both workers have the generator; worker 1 computes one forward more before its backward.
StageSchedule two_replicas(const std::string& arm) {
  const std::string rest = "open-leaf generator.0\n" + arm +
                           "backward generator.0\nclose-leaf generator.0\n"
                           "reduce generator.0\nforward discriminator.0\n"
                           "await generator.0 version=1\nforward generator.0 version=1\n";
  return {{list(rest), list("forward discriminator.0\n" + rest)}};
}

TEST(Simulator, HidesBucketsBesideBackwardAndWhatFollows) {
  Costs shared = costs();
  shared.chunks[kGenerator][0].update_seconds = 0.0;
  shared.buckets = {{{{.ready = 0.2, .seconds = 1.0}, {.ready = 1.0, .seconds = 2.0}}}, {{}}};
  // Worker 1's backward runs from 1 to 6 s. The first bucket is ready at 2 s and there at 3 s, the
  // second at 6 and 8 s. Both workers then have computed the discriminator, until 6 and 7 s.
  const Simulation armed = simulate(two_replicas("arm generator.0\n"), shared);
  EXPECT_EQ(armed.workers[0].exposed_seconds, 2.0);
  EXPECT_EQ(armed.workers[1].exposed_seconds, 1.0);
  EXPECT_EQ(armed.workers[0].lane_seconds, 3.0);
  EXPECT_EQ(armed.seconds, 9.0);
  EXPECT_EQ(armed.step_ends, std::vector<double>{8.0});
  // Not armed, nothing leaves before 6 s.
  EXPECT_EQ(simulate(two_replicas(""), shared).seconds, 10.0);
}

TEST(Simulator, LetsExchangesOfALanePassOneAfterAnother) {
  Costs shared = costs();
  shared.buckets = {{{{.ready = 1.0, .seconds = 4.0}}}, {{{.ready = 1.0, .seconds = 1.0}}}};
  const std::string both =
      "reduce generator.0\nreduce discriminator.0\nawait discriminator.0 version=1\n"
      "await generator.0 version=1\n";
  const Simulation simulation = simulate({{list(both), list(both)}}, shared);
  // Updates take 0.5 s each; the generator's exchange has the lane from 0.5 to 4.5 s.
  EXPECT_EQ(simulation.seconds, 5.5);
  EXPECT_EQ(simulation.workers[0].exposed_seconds, 4.5);
}

TEST(Simulator, StopsAllAtAFlush) {
  const Simulation simulation =
      simulate({{list("forward generator.0\nflush step=0 phase=0.0\nforward generator.0\n"),
                 list("backward generator.0\nflush step=0 phase=0.0\n")}},
               costs());
  EXPECT_EQ(simulation.seconds, 6.0);
  EXPECT_EQ(simulation.workers[0].message_seconds, 4.0);
}

TEST(Simulator, TakesTheTimeOfAStepFromTheMiddle) {
  Simulation simulation;
  simulation.seconds = 100.0;
  simulation.step_ends = {10.0, 30.0, 42.0, 54.0, 90.0};
  simulation.workers = {{.busy_seconds = 30.0}, {.busy_seconds = 60.0}};
  EXPECT_EQ(simulation.step_seconds(), 12.0);
  EXPECT_EQ(simulation.bubble(0), 0.5);
  EXPECT_EQ(simulation.bubble(1), 0.0);
  EXPECT_EQ(simulation.bubble(), 0.25);
  simulation.step_ends = {10.0, 30.0};
  EXPECT_EQ(simulation.step_seconds(), 50.0);
  simulation.step_ends = {};
  EXPECT_EQ(simulation.step_seconds(), 0.0);
  EXPECT_EQ(simulation.bubble(), 0.0);
}

TEST(Simulator, NamesAWorkerThatWaitsForEver) {
  try {
    (void)simulate({{list("forward generator.0\n"),
                     list("forward generator.0\nreceive forward generator.0 from=0\n")}},
                   costs());
    FAIL() << "nothing was sent";
  } catch (const InvariantError& error) {
    EXPECT_THAT(error.what(), HasSubstr("worker 1, line 2: it waits for ever at a receive"));
  }
}

}  // namespace
}  // namespace gangway::pipeline
