// SPDX-License-Identifier: MIT
#include "plan/predict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/reduce/reduction_routes.hpp"
#include "plan/machines/what_if.hpp"
#include "plan/ranking/search.hpp"
#include "tests/plan/sample_plan.hpp"

namespace gangway::plan {
namespace {

constexpr double kTiny = 1e-9;

Prediction predicted(int microbatches, const Cluster& cluster, const Candidate& layout) {
  const auto planner = sample_planner(microbatches, cluster);
  return predict(planner->input(), layout);
}

TEST(Predict, OneWorkerComputesEverythingAndUpdatesBothNetworks) {
  const Prediction one = predicted(4, sample_cluster(1, 1), sample_whole(1, Overlap::kNone));
  EXPECT_NEAR(one.step_seconds, 4 * kMicrobatchSeconds + 2 * kUpdateSeconds, kTiny);
  EXPECT_NEAR(one.parts.compute, 4 * kMicrobatchSeconds, kTiny);
  EXPECT_NEAR(one.parts.total(), one.step_seconds, kTiny);
  EXPECT_NEAR(one.efficiency, 1.0, kTiny);
  EXPECT_NEAR(one.images_per_second, 32.0 / one.step_seconds, 1e-6);
}

/// Returns a cluster of one H100.
Cluster gpu(const std::string& more = "") {
  return parse_cluster("nodes:\n  - {name: h100, speed: 400" + more + "}\n", "gpu.yaml");
}

TEST(Predict, NoStepIsShorterThanItsLaunches) {
  const JobSpec job = sample_job(4);
  Profile profile = sample_profile(job);
  constexpr double kTinySeconds = 1e-6;  // of a network that a core computes in almost no time
  for (InstructionCost& cost : profile.instructions) {
    cost.time.seconds = std::min(cost.time.seconds, kTinySeconds);
  }
  // Each block has a kernel for the activation, and one per tensor; both networks are alike.
  std::size_t kernels = 0;
  const auto architectures = job.architectures();
  for (const BlockSpec& block : architectures[NetworkId{0}].blocks) {
    kernels += 1 + std::visit([](const auto& spec) { return parameters_of(spec); }, block).size();
  }
  const double a_pass = kLaunchSeconds * static_cast<double>(kernels);
  const auto step_on = [&](const Cluster& cluster) {
    const Planner planner(job, profile, "sample.profile.json", cluster);
    return predict(planner.input(), sample_whole(1, Overlap::kNone));
  };
  // 5 forwards; 4 backwards of twice as many kernels.
  EXPECT_GE(step_on(gpu()).step_seconds, 4 * (5 + 4 * 2) * a_pass - kTiny);
  EXPECT_NEAR(step_on(gpu()).efficiency, 1.0, 1e-2) << "beside others that launch as many";
  EXPECT_LT(step_on(gpu(", launch: 0.001us")).step_seconds, 0.1 * step_on(gpu()).step_seconds);
  EXPECT_NEAR(step_on(gpu(", launch: 1us")).parts.compute, 4 * (5 + 4 * 2) * a_pass / 4.5, kTiny);
}

TEST(Predict, LaunchesOfLargeNetworksAreHidden) {
  const Prediction large = predicted(4, gpu(), sample_whole(1, Overlap::kNone));
  const Prediction free = predicted(4, gpu(", launch: 0.001us"), sample_whole(1, Overlap::kNone));
  EXPECT_GE(large.step_seconds, free.step_seconds);
}

TEST(Predict, WorkersShareMicrobatchesAndUpdates) {
  const Prediction two = predicted(4, sample_cluster(1, 2), sample_whole(2, Overlap::kNone));
  EXPECT_NEAR(two.step_seconds, 2 * kMicrobatchSeconds + kUpdateSeconds, kTiny);
  EXPECT_NEAR(two.efficiency, 1.0, kTiny);
}

TEST(Predict, WithinHidesWhatIsReadyBeforeTheLastBackwardEnds) {
  // Half of each network's update is ready in the middle of a backward of 2 ms.
  const Prediction none = predicted(2, sample_cluster(1, 1), sample_whole(1, Overlap::kNone));
  const Prediction within = predicted(2, sample_cluster(1, 1), sample_whole(1, Overlap::kWithin));
  EXPECT_NEAR(none.step_seconds - within.step_seconds, 2 * 0.001, kTiny);
}

TEST(Predict, RecordedStepsHideNothingInAPhaseUnlessTheJobHasThem) {
  const auto seconds = [](GraphChoice choice, Overlap overlap) {
    JobSpec job = sample_job(2);
    job.numerics.device = DeviceKind::kCuda;
    job.layout.cuda_graph = choice;
    const Planner planner(job, sample_profile(job), "sample.profile.json", sample_cluster(1, 1));
    Candidate whole = sample_whole(1, overlap);
    whole.choice.cuda_graph = choice;
    return predict(planner.input(), whole).step_seconds;
  };
  const double none = seconds(GraphChoice::kOff, Overlap::kNone);
  const double within = seconds(GraphChoice::kOff, Overlap::kWithin);
  EXPECT_LT(within, none - kTiny);
  EXPECT_NEAR(seconds(GraphChoice::kAuto, Overlap::kWithin), none, kTiny);
  EXPECT_NEAR(seconds(GraphChoice::kOverlap, Overlap::kWithin), within, kTiny);
}

TEST(Predict, AcrossHidesAnUpdateUnderWhatFollows) {
  // The generator's update hides under the discriminator's pass over real images, 3 ms. The
  // discriminator's hides under the generator's forward, 1 ms. Within phases, each hides 1 ms.
  const Prediction across = predicted(2, sample_cluster(1, 1), sample_whole(1, Overlap::kAcross));
  EXPECT_NEAR(across.step_seconds, 2 * kMicrobatchSeconds + (4.0 - 1.0 - 1.0) * 1e-3, kTiny);
}

TEST(Predict, WaitsForTheWorkerWithMoreToDoAndForTheSlowOne) {
  const Prediction uneven = predicted(3, sample_cluster(1, 2), sample_whole(2, Overlap::kNone));
  EXPECT_NEAR(uneven.step_seconds, 2 * kMicrobatchSeconds + kUpdateSeconds, kTiny);
  const Cluster slow = with_what_if(sample_cluster(1, 2), "slow:node-0/1=1.5");
  const Prediction slowed = predicted(4, slow, sample_whole(2, Overlap::kNone));
  EXPECT_NEAR(slowed.step_seconds, 1.5 * (2 * kMicrobatchSeconds + kUpdateSeconds), kTiny);
}

TEST(Predict, CountsTheWireByHand) {
  // Each of two hosts sends half of a network's gradients and half of its new weights: together as
  // many bytes as an arena. Without overlap, gradients, update and weights follow one another.
  Cluster cluster = sample_cluster(2, 1);
  cluster.between.bytes_per_second = kArenaElements * 4.0 / 0.010;
  const Prediction two = predicted(2, cluster, sample_whole(2, Overlap::kNone));
  EXPECT_EQ(two.bytes_between_hosts, 2 * 2 * kArenaElements * 4);
  EXPECT_GT(two.step_seconds, kMicrobatchSeconds + 2 * 0.010);
  EXPECT_LT(two.step_seconds, kMicrobatchSeconds + 2 * 0.010 + kUpdateSeconds + kTiny);
  EXPECT_GT(two.parts.wire, 0.015);
}

TEST(Predict, BytesBetweenHostsAreTheReductions) {
  for (const int microbatches : {6, 8, 12}) {
    for (const TransportKind transport :
         {TransportKind::kShm, TransportKind::kMpi, TransportKind::kNccl}) {
      const Candidate layout = sample_whole(6, Overlap::kNone, transport);
      Cluster cluster = sample_cluster(3, 2);
      const JobSpec job = sample_job(microbatches);
      Profile profile = sample_profile(job);
      const comm::ArenaLayout::Tensor tensor{"t", 48 * comm::kBlockElements, 0};
      const comm::ArenaLayout arena({&tensor, 1}, {});
      for (NetworkCost& network : profile.networks) {
        network.arena_elements = static_cast<std::int64_t>(arena.size());
      }
      const Planner planner(job, profile, "sample", cluster);
      std::vector<int> hosts;
      std::vector<MicrobatchRange> ranges;
      for (const WorkerPlace& place : places_of(layout, cluster, microbatches)) {
        hosts.push_back(place.host);
        ranges.push_back(place.range);
      }
      const comm::BucketPlan plan(arena, 6, 1);
      std::uint64_t bytes = 0;
      for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
        if (worker == 0 || hosts[worker] != hosts[worker - 1]) {
          bytes += comm::bytes_between_hosts(plan, static_cast<int>(worker), hosts, ranges,
                                             microbatches);
        }
      }
      EXPECT_EQ(predict(planner.input(), layout).bytes_between_hosts,
                static_cast<std::int64_t>(2 * bytes))
          << microbatches << " " << describe(layout);
    }
  }
}

TEST(Predict, BytesBetweenGpusAreThoseOfTheirRoutes) {
  const auto bytes = [](TransportKind transport, const char* wire) {
    const JobSpec job =
        sample_job(8, {"numerics.device=cuda", std::string("numerics.wire=") + wire});
    const Planner planner(job, sample_profile(job), "sample", sample_cluster(2, 4));
    return predict(planner.input(), sample_whole(8, Overlap::kNone, transport)).bytes_between_hosts;
  };
  const std::int64_t by_hosts = bytes(TransportKind::kAuto, "fp32");
  // Flat NCCL: each of eight workers sends seven slices of gradients, and as many of weights. By
  // hosts, each of two hosts sends half of both.
  EXPECT_EQ(bytes(TransportKind::kNccl, "fp32"), 7 * by_hosts);
  EXPECT_EQ(4 * bytes(TransportKind::kAuto, "bf16"), 3 * by_hosts) << "weights go whole";
}

TEST(Predict, ASlowerLinkNeverMakesAFasterStep) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
    double before = 0.0;
    for (const double rate : {1e12, 1e9, 1e8, 1e7, 1e6, 1e5}) {
      Cluster cluster = sample_cluster(4, 2);
      cluster.between.bytes_per_second = rate;
      const double seconds = predicted(8, cluster, sample_whole(8, overlap)).step_seconds;
      EXPECT_GE(seconds, before - kTiny) << rate;
      before = seconds;
    }
  }
}

TEST(Predict, ASlowPairHoldsBackThoseThatAreOnIt) {
  Cluster cluster = sample_cluster(3, 1);
  cluster.between.bytes_per_second = 1e9;
  const double usual = predicted(6, cluster, sample_whole(3)).step_seconds;
  cluster.exceptions[{0, 2}] = {.bytes_per_second = 1e6};
  EXPECT_GT(predicted(6, cluster, sample_whole(3)).step_seconds, 2 * usual);
  EXPECT_NEAR(predicted(6, cluster, sample_whole(2)).step_seconds,
              predicted(6, with_what_if(cluster, "lost:node-2"), sample_whole(2)).step_seconds,
              kTiny);
}

TEST(Predict, NeverBeatsTheBoundThatPrunes) {
  for (const int workers : {1, 2, 3, 5, 8}) {
    for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
      const auto planner = sample_planner(8, sample_cluster(1, 8));
      EXPECT_GE(predict(planner->input(), sample_whole(workers, overlap)).step_seconds,
                least_seconds(planner->input(), workers) - kTiny);
    }
  }
}

TEST(Predict, CountsMemoryByHand) {
  // Weights 1; a leaf on the stack of four micro-batches, 3 buffers; moments shared by two workers.
  const Prediction two = predicted(8, sample_cluster(2, 1), sample_whole(2));
  const std::int64_t arena = kArenaElements * 4;
  EXPECT_EQ(two.memory.arenas_bytes, 2 * (arena * (1 + 3) + arena * 2 / 2));
  // The profile has one micro-batch of points; this worker has three more.
  EXPECT_EQ(two.memory.total_bytes(), two.memory.arenas_bytes + two.memory.snapshots_bytes +
                                          kWorkerProgramBytes + 1230 + 3 * 8 * 2 * 4);
  // Three slots, each with the worker's half of weights and two moments of both networks.
  EXPECT_EQ(two.memory.snapshots_bytes, 2 * 3 * arena * (1 + 2) / 2);
  // In shared memory, a worker also reads half of the other worker's sums.
  const Prediction shared = predicted(8, sample_cluster(1, 2), sample_whole(2));
  EXPECT_EQ(shared.memory.arenas_bytes, 2 * (arena * (1 + 3) + arena * 3 / 2));
}

TEST(Predict, SaysWhatDoesNotFit) {
  Cluster cluster = sample_cluster(1, 1);
  const std::int64_t needed = predicted(2, cluster, sample_whole(1)).memory.needed_bytes();
  cluster.nodes[0].memory_bytes = needed;
  EXPECT_TRUE(predicted(2, cluster, sample_whole(1)).fits);
  cluster.nodes[0].memory_bytes = needed - 1;
  EXPECT_FALSE(predicted(2, cluster, sample_whole(1)).fits);
}

TEST(Predict, ComputeLosesWhatLanesTakeWhereCoresAreShared) {
  Cluster cluster = sample_cluster(1, 2);
  const double free = predicted(4, cluster, sample_whole(2)).step_seconds;
  cluster.nodes[0].cores = 2;
  const Prediction full = predicted(4, cluster, sample_whole(2));
  EXPECT_GT(full.step_seconds, free);
  EXPECT_GT(full.parts.beside, 0.0);
}

TEST(Predict, CostsAKimgWhatItsNodesCost) {
  Cluster cluster = sample_cluster(2, 1);
  cluster.nodes[0].price_per_hour = 2.0;
  cluster.nodes[1].price_per_hour = 4.0;
  const Prediction one = predicted(2, cluster, sample_whole(1));
  EXPECT_NEAR(one.price_per_kimg, 2.0 / 3600.0 * 1000.0 / one.images_per_second, kTiny);
  const Prediction two = predicted(2, cluster, sample_whole(2));
  EXPECT_NEAR(two.price_per_kimg, 6.0 / 3600.0 * 1000.0 / two.images_per_second, kTiny);
}

}  // namespace
}  // namespace gangway::plan
