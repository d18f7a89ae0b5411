// SPDX-License-Identifier: MIT
#include "worker/state_keeper.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "checkpoint/digest.hpp"
#include "checkpoint/snapshot_files.hpp"
#include "comm/loopback_transport.hpp"
#include "job/errors.hpp"
#include "job/fingerprint.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/small_network.hpp"

namespace gangway::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStep = 40;

/// What one worker keeps: a generator with an average and a discriminator.
struct Worker {
  explicit Worker(int num_workers, std::int64_t channels = 20,
                  MemoryFormat format = MemoryFormat::kChannelsLast)
      : generator(small_network("generator", channels)),
        discriminator(small_network("discriminator", 2 * channels)),
        generator_state(generator, format, num_workers, Averaging::kYes),
        discriminator_state(discriminator, format, num_workers, Averaging::kNo) {}
  [[nodiscard]] std::vector<NetworkState*> states() {
    return {&generator_state, &discriminator_state};
  }

  gan::Network generator;
  gan::Network discriminator;
  NetworkState generator_state;
  NetworkState discriminator_state;
};

std::vector<comm::Arena*> arenas_of(NetworkState& state) {
  std::vector<comm::Arena*> arenas{&state.weights(), &state.first_moment(), &state.second_moment()};
  if (state.average() != nullptr) {
    arenas.push_back(state.average());
  }
  return arenas;
}

/// A value that tells network, arena, tensor and logical element apart.
float value_of(std::size_t network, std::size_t arena, std::size_t place, std::int64_t element) {
  return static_cast<float>(network * 4 + arena) + 0.01F * static_cast<float>(place) +
         1e-5F * static_cast<float>(element);
}

/// The logical values of every place, whole.
void fill(Worker& worker) {
  const at::NoGradGuard no_grad;
  for (std::size_t n = 0; n < worker.states().size(); ++n) {
    NetworkState& state = *worker.states()[n];
    const std::vector<comm::Arena*> arenas = arenas_of(state);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      for (std::size_t p = 0; p < state.places().size(); ++p) {
        at::Tensor view = NetworkState::view(arenas[a]->data(), state.places()[p]);
        at::Tensor values = at::empty(view.sizes(), at::kFloat);
        for (std::int64_t i = 0; i < values.numel(); ++i) {
          values.mutable_data_ptr<float>()[i] = value_of(n, a, p, i);
        }
        view.copy_(values);
      }
    }
    state.updates = 100 + static_cast<std::int64_t>(n);
  }
}

/// Wipes what training leaves to other workers: moments and average outside the own slices.
void forget_foreign_slices(Worker& worker, int me) {
  for (NetworkState* state : worker.states()) {
    for (comm::Arena* arena : arenas_of(*state)) {
      for (std::size_t bucket = 0;
           arena != &state->weights() && bucket < state->plan().num_buckets(); ++bucket) {
        for (int other = 0; other < state->plan().num_workers(); ++other) {
          const std::span<float> slice = arena->range(state->plan().slice(bucket, other));
          if (other != me && !slice.empty()) {
            std::memset(slice.data(), 0xFF, slice.size_bytes());  // not a number
          }
        }
      }
    }
  }
}

/// The weights whole, the own slices of all else.
void expect_filled(Worker& worker, int me, int num_workers) {
  for (std::size_t n = 0; n < worker.states().size(); ++n) {
    NetworkState& state = *worker.states()[n];
    const std::vector<comm::Arena*> arenas = arenas_of(state);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      std::vector<char> is_wanted(state.layout().size(), arenas[a] == &state.weights() ? 1 : 0);
      for (std::size_t bucket = 0; bucket < state.plan().num_buckets(); ++bucket) {
        const comm::ElementRange own = state.plan().slice(bucket, me);
        std::fill(is_wanted.begin() + static_cast<std::ptrdiff_t>(own.begin),
                  is_wanted.begin() + static_cast<std::ptrdiff_t>(own.end), 1);
      }
      for (std::size_t p = 0; p < state.places().size(); ++p) {
        const NetworkState::Place& place = state.places()[p];
        if (place.is_statistic &&
            (arenas[a] == &state.first_moment() || arenas[a] == &state.second_moment())) {
          continue;
        }
        const at::Tensor stored = NetworkState::view(arenas[a]->data(), place).contiguous();
        const at::Tensor wanted =
            at::empty_strided(place.sizes, place.strides, at::kChar).zero_();
        std::memcpy(wanted.mutable_data_ptr(), is_wanted.data() + place.range.begin,
                    place.range.size());
        const at::Tensor logical = wanted.contiguous();
        for (std::int64_t i = 0; i < stored.numel(); ++i) {
          if (logical.const_data_ptr<std::int8_t>()[i] == 0) {
            continue;
          }
          ASSERT_EQ(stored.const_data_ptr<float>()[i], value_of(n, a, p, i))
              << num_workers << " workers, " << place.name << ", arena " << a << ", element " << i;
        }
      }
    }
    EXPECT_EQ(state.updates, 100 + static_cast<std::int64_t>(n));
  }
}

const JobSpec kJob;

/// Where the workers of one start meet, and what they are to begin with.
struct Start {
  int num_workers = 1;
  fs::path run;
  MemoryFormat format = MemoryFormat::kChannelsLast;
  fs::path resume = {};
  std::int64_t snapshot_step = -1;  ///< not -1: of the snapshot to go on from
};

/// What one worker's keeper reported.
using Parts = std::vector<CheckpointPartInfo>;

StateKeeper::Setup keeper_setup(const Start& start, const WelcomeInfo& welcome,
                                std::vector<NetworkState*> networks, comm::Transport& transport,
                                comm::Lane& lane, Parts& parts) {
  return {.job = kJob,
          .welcome = welcome,
          .networks = std::move(networks),
          .transport = transport,
          .lane = lane,
          .workers_on_machine = start.num_workers,
          .shared_memory = start.run / checkpoint::kSnapshotsFolder,
          .report = [&parts](const CheckpointPartInfo& part) { parts.push_back(part); },
          .timeout = std::chrono::seconds(20)};
}

WelcomeInfo welcome_of(const Start& start) {
  fs::create_directories(start.run / checkpoint::kSnapshotsFolder);
  return {.run_directory = start.run.string(),
          .resume_directory = start.resume.string(),
          .resume_snapshot = start.snapshot_step >= 0,
          .start_step = std::max<std::int64_t>(0, start.snapshot_step)};
}

/// Runs `body(worker's index, worker, its keeper, what it reported)` on every worker of a loopback.
void on_workers(const Start& start,
                const std::function<void(int, Worker&, StateKeeper&, Parts&)>& body) {
  const WelcomeInfo welcome = welcome_of(start);
  comm::LoopbackHub hub(start.num_workers);
  comm::spawn_ranks(start.num_workers, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(start.num_workers, 20, start.format);
    Parts parts;
    StateKeeper keeper(keeper_setup(start, welcome, worker.states(), transport, lane, parts));
    body(me, worker, keeper, parts);
  });
}

checkpoint::Manifest manifest_of(int num_workers) {
  checkpoint::Manifest manifest{.step = kStep,
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

/// Writes the filled state of `num_workers` behind a snapshot, and commits it.
fs::path save_on(int num_workers, const fs::path& folder,
                 MemoryFormat format = MemoryFormat::kChannelsLast) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder / "checkpoints", kStep);
  std::mutex mutex;
  checkpoint::Manifest manifest = manifest_of(num_workers);
  on_workers({.num_workers = num_workers, .run = folder, .format = format},
             [&](int me, Worker& worker, StateKeeper& keeper, Parts& parts) {
               fill(worker);
               forget_foreign_slices(worker, me);
               keeper.write_behind(kStep, temporary.string());
               keeper.take_now(kStep);
               keeper.finish_writing();
               const std::scoped_lock lock(mutex);
               ASSERT_EQ(parts.size(), 1U);
               EXPECT_EQ(parts[0].error, "");
               manifest.files[static_cast<std::size_t>(me)] = {parts[0].file, me, parts[0].bytes,
                                                               parts[0].xxh3_128};
             });
  return checkpoint::commit_checkpoint(temporary, manifest);
}

class StateKeeperTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path folder(const std::string& name) const { return scratch_.path() / name; }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(StateKeeperTest, LoadsOnAnyNumberOfWorkersWhatThreeSaved) {
  const fs::path checkpoint = save_on(3, folder("a"));
  for (const int num_workers : {1, 2, 4}) {
    on_workers({.num_workers = num_workers,
                .run = folder("b" + std::to_string(num_workers)),
                .resume = checkpoint},
               [&](int me, Worker& worker, StateKeeper&, Parts&) {
                 expect_filled(worker, me, num_workers);
               });
  }
}

TEST_F(StateKeeperTest, LoadsLogicalValuesWhateverTheMemoryFormat) {
  const fs::path checkpoint = save_on(2, folder("a"), MemoryFormat::kContiguous);
  on_workers({.num_workers = 3, .run = folder("b"), .resume = checkpoint},
             [&](int me, Worker& worker, StateKeeper&, Parts&) { expect_filled(worker, me, 3); });
}

TEST_F(StateKeeperTest, LoadsIntoTheMemoryThatTheNetworkComputesWith) {
  const fs::path checkpoint = save_on(1, folder("a"));
  on_workers({.run = folder("b"), .resume = checkpoint},
             [&](int, Worker& worker, StateKeeper&, Parts&) {
               const at::Tensor weight = worker.generator.parameters().front().parameter->tensor;
               EXPECT_EQ(weight[0][0][0][1].item<float>(), value_of(0, 0, 0, 1));
             });
}

TEST_F(StateKeeperTest, GoesOnFromTheSnapshotsOfAnotherNumberOfWorkers) {
  on_workers({.num_workers = 3, .run = folder("a")},
             [&](int me, Worker& worker, StateKeeper& keeper, Parts&) {
               fill(worker);
               forget_foreign_slices(worker, me);
               keeper.take_now(kStep);
             });
  for (const int num_workers : {3, 1, 2}) {
    on_workers({.num_workers = num_workers, .run = folder("a"), .snapshot_step = kStep},
               [&](int me, Worker& worker, StateKeeper& keeper, Parts&) {
                 expect_filled(worker, me, num_workers);
                 keeper.take_now(kStep);
               });
  }
}

TEST_F(StateKeeperTest, RefusesASnapshotThatIsGone) {
  EXPECT_THROW(on_workers({.run = folder("a"), .snapshot_step = kStep},
                          [](int, Worker&, StateKeeper&, Parts&) {}),
               CheckpointError);
}

TEST_F(StateKeeperTest, SavesOneStepAfterAnotherBehindOneAnother) {
  const fs::path run = folder("a");
  on_workers({.run = run}, [&](int, Worker& worker, StateKeeper& keeper, Parts& parts) {
    fill(worker);
    for (std::int64_t step = 1; step <= 4; ++step) {
      keeper.finish_writing();
      keeper.write_behind(
          step, checkpoint::begin_checkpoint(run / "checkpoints", step).string());
      keeper.take_now(step);
    }
    keeper.finish_writing();
    ASSERT_EQ(parts.size(), 4U);
    for (const CheckpointPartInfo& part : parts) {
      EXPECT_EQ(part.error, "");
    }
  });
}

TEST_F(StateKeeperTest, SharesTheTensorsOutWithoutWritingOneTwice) {
  const fs::path checkpoint = save_on(3, folder("a"));
  const checkpoint::CheckpointReader reader(checkpoint);
  const auto names = reader.tensors();
  // Generator: 7 parameters and 2 statistics, twice, and 2 x 7 moments, 1 count; discriminator: 9 +
  // 14 + 1.
  EXPECT_EQ(names.size(), 18U + 14U + 1U + 9U + 14U + 1U);
  EXPECT_NE(reader.find("generator_ema/0/norm.running_mean"), nullptr);
  EXPECT_EQ(reader.find("generator_optimizer/first_moment/0/norm.running_mean"), nullptr);
  EXPECT_EQ(reader.find("discriminator_ema/0/weight"), nullptr);
}

TEST_F(StateKeeperTest, HasOneDigestForAllNumbersOfWorkers) {
  const std::string one = checkpoint::digest(save_on(1, folder("one")));
  EXPECT_EQ(checkpoint::digest(save_on(2, folder("two"))), one);
  EXPECT_EQ(checkpoint::digest(save_on(4, folder("four"))), one);
}

std::string load_error(std::vector<NetworkState*> networks, const Start& start) {
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  Parts parts;
  const WelcomeInfo welcome = welcome_of(start);
  try {
    const StateKeeper keeper(
        keeper_setup(start, welcome, std::move(networks), transport, lane, parts));
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(StateKeeperTest, NamesATensorOfAnotherShape) {
  const fs::path checkpoint = save_on(1, folder("a"));
  Worker wider(1, 24);
  const std::string message =
      load_error(wider.states(), {.run = folder("b"), .resume = checkpoint});
  EXPECT_NE(message.find("'generator/0/weight'"), std::string::npos) << message;
  EXPECT_NE(message.find("another model"), std::string::npos) << message;
  EXPECT_NE(message.find(checkpoint.string()), std::string::npos) << message;
}

TEST_F(StateKeeperTest, NamesATensorThatIsMissing) {
  const fs::path checkpoint = save_on(1, folder("a"));
  gan::Network other = small_network("critic");
  NetworkState state(other, MemoryFormat::kContiguous, 1, Averaging::kNo);
  const std::string message = load_error({&state}, {.run = folder("b"), .resume = checkpoint});
  EXPECT_NE(message.find("critic/0/weight"), std::string::npos) << message;
}

TEST_F(StateKeeperTest, BeginsAnAverageThatTheCheckpointLacksWithTheWeights) {
  const fs::path checkpoint = save_on(1, folder("a"));
  gan::Network generator = small_network("generator");
  gan::Network discriminator = small_network("discriminator", 40);
  NetworkState without(generator, MemoryFormat::kChannelsLast, 1, Averaging::kYes);
  NetworkState with(discriminator, MemoryFormat::kChannelsLast, 1, Averaging::kYes);
  EXPECT_EQ(load_error({&without, &with}, {.run = folder("b"), .resume = checkpoint}), "no error");
  for (const NetworkState::Place& place : with.places()) {
    EXPECT_TRUE(at::equal(NetworkState::view(with.average()->data(), place),
                          NetworkState::view(with.weights().data(), place)))
        << place.name;
  }
}

TEST_F(StateKeeperTest, SavesNothingThatIsNotFinite) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder("a") / "checkpoints", kStep);
  EXPECT_THROW(
      on_workers({.run = folder("a")},
                 [&](int, Worker& worker, StateKeeper& keeper, Parts&) {
                   fill(worker);
                   worker.discriminator_state.weights().data()[3] =
                       std::numeric_limits<float>::infinity();
                   keeper.write_behind(kStep, temporary.string());
                   try {
                     keeper.take_now(kStep);
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
