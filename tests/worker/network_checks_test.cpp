// SPDX-License-Identifier: MIT
// Checks during a training. Workers are threads, each with its own networks and lane.
#include "worker/step/network_checks.hpp"

#include <bit>
#include <functional>
#include <mutex>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "data/dataset.hpp"
#include "data/open_dataset.hpp"
#include "gan/recipes/adversarial.hpp"
#include "job/layout/layout.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/training.hpp"

namespace gangway::worker {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kReplicas = 3;

JobSpec checked_job(int check_steps) {
  JobSpec job = fidelity::small_mlp();
  job.layout.check_steps = check_steps;
  return job;
}

/// Damage done to worker 1 before `step`.
struct Damage {
  std::int64_t step = 0;
  std::function<void(const PerNetwork<NetworkState*>&)> deed;
};

void flip_bit(NetworkState& state, const std::string& tensor) {
  for (const NetworkState::TensorPlace& place : state.places()) {
    if (place.name == tensor) {
      float& value = state.weights().data()[place.range.begin];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
    }
  }
}

/// Trains `steps` steps on three hosts of one worker each. Returns the workers' errors.
std::vector<std::string> train(const JobSpec& job, std::int64_t steps, const Damage& damage) {
  std::mutex mutex;
  std::vector<std::string> deaths;
  comm::LoopbackHub hub(kReplicas);
  comm::spawn_ranks(kReplicas, [&](int worker) {
    at::set_num_threads(1);
    comm::LoopbackTransport transport(hub, worker);
    comm::Lane lane([] {});
    lane.wait(lane.submit([] { at::set_num_threads(1); }));
    const Layout layout = resolve_layout(job, kReplicas);
    const MicrobatchRange local = layout.range_of(worker);
    const std::vector<pipeline::Phase> phases = gan::adversarial_phases(job);
    const auto dataset = data::open_dataset(job.data, job.model, job.training.seed);
    CpuDevice device(job);
    Replica replica(job, {.worker = worker, .layout = layout, .hosts = {0, 1, 2}},
                    comm::HostMemory::alone(worker, 2 * comm::kFlagsPerNetwork), device);
    const ExchangeSetup exchange{.transport = transport,
                                 .lane = lane,
                                 .host = replica.host(),
                                 .ranges = layout.shared_ranges(),
                                 .hosts = {0, 1, 2},
                                 .num_microbatches = job.training.microbatches,
                                 .timeout = std::chrono::seconds(20)};
    RealBatches reals(job, *dataset, local, 0);
    StepOperations operations({.job = job,
                               .options = job,
                               .execution = job.layout,
                               .phases = phases,
                               .networks = replica.networks(),
                               .reals = reals,
                               .exchange = exchange,
                               .exchanges = device.connect(replica.networks(), exchange),
                               .device = at::kCPU,
                               .local = local});
    try {
      for (std::int64_t step = 0; step < steps; ++step) {
        if (step == damage.step) {
          operations.settle();
          if (worker == 1 && damage.deed) {
            damage.deed(replica.networks());
          }
        }
        operations.begin_step(step);
        pipeline::execute(pipeline::one_stage_schedule(phases, {local.begin, local.end}, step,
                                                       job.layout.overlap),
                          operations);
      }
      operations.settle();
    } catch (const Error& error) {
      const std::scoped_lock lock(mutex);
      if (error.code() == ExitCode::kInternal) {
        deaths.emplace_back(error.what());
      }
      if (job.layout.audit) {
        hub.kill(worker);  // a coordinator would stop the other workers
      }
    }
  });
  return deaths;
}

TEST(NetworkChecksTest, EqualReplicasTrainOn) {
  JobSpec job = checked_job(1);
  job.layout.audit = true;
  for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
    job.layout.overlap = overlap;
    EXPECT_THAT(train(job, 6, {}), SizeIs(0));
  }
}

TEST(NetworkChecksTest, AFlippedBitIsFoundInTheStepThatUsedIt) {
  const std::vector<std::string> deaths =
      train(checked_job(1), 6, {3, [](const PerNetwork<NetworkState*>& networks) {
                                  flip_bit(*networks[kDiscriminator], "discriminator/1/weight");
                                }});
  EXPECT_THAT(deaths,
              AllOf(SizeIs(kReplicas),
                    Each(AllOf(HasSubstr("after step 3"), HasSubstr("'discriminator/1/weight'"),
                               HasSubstr("other bits on rank 2 than")))));
}

TEST(NetworkChecksTest, NothingIsSavedOfReplicasThatDiffer) {
  // No step is a multiple of 100, so the check before each save must find it.
  const std::vector<std::string> deaths =
      train(checked_job(100), 1, {0, [](const PerNetwork<NetworkState*>& networks) {
                                    flip_bit(*networks[kGenerator], "generator/0/weight");
                                    networks[kGenerator]->counts.updates += 1000;
                                  }});
  EXPECT_THAT(deaths, AllOf(SizeIs(kReplicas), Each(HasSubstr("'generator/"))));
}

TEST(NetworkChecksTest, UncheckedReplicasMayDiffer) {
  EXPECT_THAT(train(checked_job(0), 3,
                    {1,
                     [](const PerNetwork<NetworkState*>& networks) {
                       flip_bit(*networks[kGenerator], "generator/0/weight");
                     }}),
              SizeIs(0));
}

TEST(NetworkChecksTest, AWorkerThatUpdatesByAnotherPlanIsFoundByTheAudit) {
  JobSpec job = checked_job(1);
  job.layout.audit = true;
  // Adam's bias correction depends on the number of the update.
  const std::vector<std::string> deaths =
      train(job, 60, {2, [](const PerNetwork<NetworkState*>& networks) {
                        networks[kGenerator]->counts.updates += 1;
                      }});
  EXPECT_THAT(deaths, ::testing::Contains(AllOf(HasSubstr("rank 2"), HasSubstr("recomputed"),
                                                HasSubstr("'generator/"))));
}

TEST(NetworkChecksTest, ChecksChangeNoBit) {
  const testing::ScratchFolder scratch;
  std::vector<std::string> digests;
  for (const int check_steps : {0, 1, 2}) {
    JobSpec job = checked_job(check_steps);
    job.layout.audit = check_steps == 1;
    digests.push_back(
        fidelity::train({.job = job, .workers = 3, .begin = 0, .end = 5, .hosts = {0, 0, 2}},
                        scratch.path() / std::to_string(check_steps))
            .digest);
  }
  EXPECT_THAT(digests, Each(digests.front()));
}

}  // namespace
}  // namespace gangway::worker
