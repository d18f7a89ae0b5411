// SPDX-License-Identifier: MIT
#include "worker/state/snapshot_service.hpp"

#include <atomic>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/tools/digest.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/snapshot_service_fixture.hpp"

namespace gangway::worker {
namespace {

checkpoint::Manifest manifest_of(int num_workers) {
  checkpoint::Manifest manifest{.step = kSavedStep,
                                .images = 1,
                                .job_yaml = "a: 1\n",
                                .job_fingerprint = "f",
                                .model_fingerprint = "m",
                                .numerics = "n",
                                .data_fingerprint = "d",
                                .created = "2026-01-01T00:00:00Z"};
  manifest.files.resize(static_cast<std::size_t>(num_workers));
  return manifest;
}

/// Writes the filled state of `num_workers` after a snapshot, and commits it.
fs::path save_on(int num_workers, const fs::path& folder,
                 MemoryFormat format = MemoryFormat::kChannelsLast) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder / "checkpoints", kSavedStep);
  std::mutex mutex;
  checkpoint::Manifest manifest = manifest_of(num_workers);
  on_workers({.num_workers = num_workers, .run = folder, .format = format},
             [&](int me, Worker& worker, SnapshotService& service, Parts& parts) {
               fill(worker);
               forget_foreign_slices(worker, me);
               service.write_behind(kSavedStep, temporary.string());
               service.take_now(kSavedStep);
               service.finish_writing();
               const std::scoped_lock lock(mutex);
               ASSERT_EQ(parts.size(), 1U);
               EXPECT_EQ(parts[0].error, "");
               manifest.files[static_cast<std::size_t>(me)] = {parts[0].file, me, parts[0].bytes,
                                                               parts[0].xxh3_128};
             });
  return checkpoint::commit_checkpoint(temporary, manifest);
}

class SnapshotServiceTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path folder(const std::string& name) const { return scratch_.path() / name; }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(SnapshotServiceTest, LoadsOnAnyNumberOfWorkersWhatThreeSaved) {
  const fs::path checkpoint = save_on(3, folder("a"));
  for (const int num_workers : {1, 2, 4}) {
    on_workers({.num_workers = num_workers,
                .run = folder("b" + std::to_string(num_workers)),
                .resume = checkpoint},
               [&](int me, Worker& worker, SnapshotService&, Parts&) {
                 expect_filled(worker, me, num_workers);
               });
  }
}

TEST_F(SnapshotServiceTest, LoadsLogicalValuesWhateverTheMemoryFormat) {
  const fs::path checkpoint = save_on(2, folder("a"), MemoryFormat::kContiguous);
  on_workers(
      {.num_workers = 3, .run = folder("b"), .resume = checkpoint},
      [&](int me, Worker& worker, SnapshotService&, Parts&) { expect_filled(worker, me, 3); });
}

TEST_F(SnapshotServiceTest, LoadsIntoTheMemoryThatTheNetworkComputesWith) {
  const fs::path checkpoint = save_on(1, folder("a"));
  on_workers({.run = folder("b"), .resume = checkpoint},
             [&](int, Worker& worker, SnapshotService&, Parts&) {
               const at::Tensor weight = worker.generator.parameters().front().parameter->tensor;
               EXPECT_EQ(weight[0][0][0][1].item<float>(), value_of(0, 0, 0, 1));
             });
}

TEST_F(SnapshotServiceTest, SavesOneStepAfterAnotherBehindOneAnother) {
  const fs::path run = folder("a");
  on_workers({.run = run}, [&](int, Worker& worker, SnapshotService& service, Parts& parts) {
    fill(worker);
    for (std::int64_t step = 1; step <= 4; ++step) {
      service.finish_writing();
      service.write_behind(step, checkpoint::begin_checkpoint(run / "checkpoints", step).string());
      service.take_now(step);
    }
    service.finish_writing();
    ASSERT_EQ(parts.size(), 4U);
    for (const messages::CheckpointPart& part : parts) {
      EXPECT_EQ(part.error, "");
    }
  });
}

TEST_F(SnapshotServiceTest, FinishesTheFilesOfWhatWasTakenWhereTrainingDiverges) {
  const fs::path run = folder("a");
  on_workers({.run = run}, [&](int, Worker& worker, SnapshotService& service, Parts& parts) {
    fill(worker);
    const auto write_behind = [&](std::int64_t step) {
      service.write_behind(step, checkpoint::begin_checkpoint(run / "checkpoints", step).string());
    };
    write_behind(1);
    service.take_now(1);
    write_behind(2);  // the job ends before its step
    service.finish_healthy_files();
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts.front().step, 1);
    EXPECT_EQ(parts.front().error, "");
  });
}

TEST_F(SnapshotServiceTest, SharesTheTensorsOutWithoutWritingOneTwice) {
  const fs::path checkpoint = save_on(3, folder("a"));
  const checkpoint::StoredState state(checkpoint);
  // Generator: 7 parameters and 2 statistics, twice; 2 x 7 moments; 1 count. Discriminator: 9 + 14
  // + 1.
  EXPECT_EQ(state.tensors().size(), 18U + 14U + 1U + 9U + 14U + 1U);
  EXPECT_NE(state.find("generator_ema/0/norm.running_mean"), nullptr);
  EXPECT_EQ(state.find("generator_optimizer/first_moment/0/norm.running_mean"), nullptr);
  EXPECT_EQ(state.find("discriminator_ema/0/weight"), nullptr);
}

TEST_F(SnapshotServiceTest, HasOneDigestForAllNumbersOfWorkers) {
  const std::string one = checkpoint::digest(save_on(1, folder("one")));
  EXPECT_EQ(checkpoint::digest(save_on(2, folder("two"))), one);
  EXPECT_EQ(checkpoint::digest(save_on(4, folder("four"))), one);
}

std::string load_error(std::vector<NetworkState*> networks, const Start& start) {
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  ScriptedLink link(std::deque<messages::Begin>{begin_of(start)});
  try {
    (void)begin_state(
        state_setup(start, memory_of(start), std::move(networks), transport, lane, link));
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(SnapshotServiceTest, NamesATensorOfAnotherShape) {
  const fs::path checkpoint = save_on(1, folder("a"));
  Worker wider(1, 24);
  const std::string message =
      load_error(wider.states(), {.run = folder("b"), .resume = checkpoint});
  EXPECT_NE(message.find("'discriminator/0/norm.bias'"), std::string::npos) << message;
  EXPECT_NE(message.find("another model"), std::string::npos) << message;
  EXPECT_NE(message.find(checkpoint.string()), std::string::npos) << message;
}

TEST_F(SnapshotServiceTest, NamesATensorThatIsMissing) {
  const fs::path checkpoint = save_on(1, folder("a"));
  gan::Network other = small_network("critic");
  NetworkState state(other, {});
  const std::string message = load_error({&state}, {.run = folder("b"), .resume = checkpoint});
  EXPECT_NE(message.find("critic/0/norm.bias"), std::string::npos) << message;
}

TEST_F(SnapshotServiceTest, BeginsAnAverageThatTheCheckpointLacksWithTheWeights) {
  const fs::path checkpoint = save_on(1, folder("a"));
  gan::Network generator = small_network("generator");
  gan::Network discriminator = small_network("discriminator", 40);
  NetworkState without(generator,
                       {.format = MemoryFormat::kChannelsLast, .averaging = Averaging::kYes});
  NetworkState with(discriminator,
                    {.format = MemoryFormat::kChannelsLast, .averaging = Averaging::kYes});
  EXPECT_EQ(load_error({&without, &with}, {.run = folder("b"), .resume = checkpoint}), "no error");
  for (const NetworkState::TensorPlace& place : with.places()) {
    EXPECT_TRUE(at::equal(NetworkState::view(with.average()->data(), place),
                          NetworkState::view(with.weights().data(), place)))
        << place.name;
  }
}

TEST_F(SnapshotServiceTest, HasABuddyOnAnotherHostWhereSnapshotsAreTaken) {
  JobSpec without;
  without.checkpoint.snapshot_steps = 0;
  const auto has_buddies = [this](const JobSpec& job, const std::vector<int>& hosts) {
    std::atomic<int> buddies = 0;
    on_workers({.num_workers = 2, .run = folder("run"), .job = &job, .hosts = hosts},
               [&](int, Worker&, SnapshotService& service, Parts&) {
                 buddies += service.copies() != nullptr ? 1 : 0;
               });
    return buddies == 2;
  };
  EXPECT_TRUE(has_buddies(kJob, {0, 1}));
  EXPECT_FALSE(has_buddies(kJob, {0, 0}));
  EXPECT_FALSE(has_buddies(without, {0, 1}));
}

TEST_F(SnapshotServiceTest, SavesNothingThatIsNotFinite) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder("a") / "checkpoints", kSavedStep);
  EXPECT_THROW(on_workers({.run = folder("a")},
                          [&](int, Worker& worker, SnapshotService& service, Parts&) {
                            fill(worker);
                            worker.discriminator_state.weights().data()[3] =
                                std::numeric_limits<float>::infinity();
                            service.write_behind(kSavedStep, temporary.string());
                            service.take_now(kSavedStep);
                            try {
                              service.finish_writing();
                            } catch (const DivergedError& error) {
                              EXPECT_NE(std::string(error.what()).find("'discriminator/0/weight'"),
                                        std::string::npos);
                              throw;
                            }
                          }),
               DivergedError);
  EXPECT_FALSE(fs::exists(temporary / checkpoint::worker_file_name(0, 1)));
}

}  // namespace
}  // namespace gangway::worker
