// SPDX-License-Identifier: MIT
#include "worker/state_files.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <mutex>

#include <gtest/gtest.h>

#include "checkpoint/digest.hpp"
#include "comm/loopback_transport.hpp"
#include "job/errors.hpp"
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

void expect_filled(Worker& worker, int num_workers) {
  for (std::size_t n = 0; n < worker.states().size(); ++n) {
    NetworkState& state = *worker.states()[n];
    const std::vector<comm::Arena*> arenas = arenas_of(state);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      for (std::size_t p = 0; p < state.places().size(); ++p) {
        if (state.places()[p].is_statistic &&
            (arenas[a] == &state.first_moment() || arenas[a] == &state.second_moment())) {
          continue;
        }
        const at::Tensor stored = NetworkState::view(arenas[a]->data(), state.places()[p]).contiguous();
        for (std::int64_t i = 0; i < stored.numel(); ++i) {
          ASSERT_EQ(stored.const_data_ptr<float>()[i], value_of(n, a, p, i))
              << num_workers << " workers, " << state.places()[p].name << ", arena " << a
              << ", element " << i;
        }
      }
    }
    EXPECT_EQ(state.updates, 100 + static_cast<std::int64_t>(n));
  }
}

/// Runs `body(worker, its files)` on every worker of a loopback.
void on_workers(int num_workers, MemoryFormat format,
                const std::function<void(int, Worker&, StateFiles&)>& body) {
  comm::LoopbackHub hub(num_workers);
  comm::spawn_ranks(num_workers, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(num_workers, 20, format);
    StateFiles files({transport, lane, worker.states(), std::chrono::seconds(20)});
    body(me, worker, files);
  });
}

/// Writes the filled state of `num_workers` and commits it.
fs::path save_on(int num_workers, const fs::path& folder,
                 MemoryFormat format = MemoryFormat::kChannelsLast) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder, kStep);
  std::mutex mutex;
  checkpoint::Manifest manifest{.step = kStep,
                                .images = 1,
                                .job_yaml = "a: 1\n",
                                .job_fingerprint = "f",
                                .model_fingerprint = "m",
                                .numerics = "n",
                                .data_fingerprint = "d",
                                .created = "2026-01-01T00:00:00Z"};
  manifest.files.resize(static_cast<std::size_t>(num_workers));
  on_workers(num_workers, format, [&](int me, Worker& worker, StateFiles& files) {
    fill(worker);
    forget_foreign_slices(worker, me);
    const checkpoint::FileReport report = files.save(temporary, kStep);
    const std::scoped_lock lock(mutex);
    manifest.files[static_cast<std::size_t>(me)] = {report.name, me, report.bytes, report.xxh3_128};
  });
  return checkpoint::commit_checkpoint(temporary, manifest);
}

class StateFilesTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path folder(const std::string& name) const { return scratch_.path() / name; }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(StateFilesTest, LoadsOnAnyNumberOfWorkersWhatThreeSaved) {
  const fs::path checkpoint = save_on(3, folder("a"));
  for (const int num_workers : {1, 2, 4}) {
    on_workers(num_workers, MemoryFormat::kChannelsLast,
               [&](int, Worker& worker, StateFiles& files) {
                 files.load(checkpoint);
                 expect_filled(worker, num_workers);
               });
  }
}

TEST_F(StateFilesTest, StoresLogicalValuesWhateverTheMemoryFormat) {
  const fs::path checkpoint = save_on(2, folder("a"), MemoryFormat::kContiguous);
  on_workers(1, MemoryFormat::kChannelsLast, [&](int, Worker& worker, StateFiles& files) {
    files.load(checkpoint);
    expect_filled(worker, 1);
  });
}

TEST_F(StateFilesTest, LoadsIntoTheMemoryThatTheNetworkComputesWith) {
  const fs::path checkpoint = save_on(1, folder("a"));
  on_workers(1, MemoryFormat::kChannelsLast, [&](int, Worker& worker, StateFiles& files) {
    files.load(checkpoint);
    const at::Tensor weight = worker.generator.parameters().front().parameter->tensor;
    EXPECT_EQ(weight[0][0][0][1].item<float>(), value_of(0, 0, 0, 1));
  });
}

TEST_F(StateFilesTest, SharesTheTensorsOutWithoutWritingOneTwice) {
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

TEST_F(StateFilesTest, HasOneDigestForAllNumbersOfWorkers) {
  const std::string one = checkpoint::digest(save_on(1, folder("one")));
  EXPECT_EQ(checkpoint::digest(save_on(2, folder("two"))), one);
  EXPECT_EQ(checkpoint::digest(save_on(4, folder("four"))), one);
}

std::string load_error(Worker& worker, const fs::path& checkpoint) {
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  StateFiles files({transport, lane, worker.states(), std::chrono::seconds(20)});
  try {
    files.load(checkpoint);
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(StateFilesTest, NamesATensorOfAnotherShape) {
  const fs::path checkpoint = save_on(1, folder("a"));
  Worker wider(1, 24);
  const std::string message = load_error(wider, checkpoint);
  EXPECT_NE(message.find("'generator/0/weight'"), std::string::npos) << message;
  EXPECT_NE(message.find("another model"), std::string::npos) << message;
  EXPECT_NE(message.find(checkpoint.string()), std::string::npos) << message;
}

TEST_F(StateFilesTest, NamesATensorThatIsMissing) {
  const fs::path checkpoint = save_on(1, folder("a"));
  gan::Network other = small_network("critic");
  NetworkState state(other, MemoryFormat::kContiguous, 1, Averaging::kNo);
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  StateFiles files({transport, lane, {&state}, std::chrono::seconds(20)});
  try {
    files.load(checkpoint);
    FAIL() << "a checkpoint without the network was loaded";
  } catch (const CheckpointError& error) {
    EXPECT_NE(std::string(error.what()).find("critic/0/weight"), std::string::npos) << error.what();
  }
}

TEST_F(StateFilesTest, BeginsAnAverageThatTheCheckpointLacksWithTheWeights) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder("a"), kStep);
  gan::Network plain = small_network("generator");
  NetworkState without(plain, MemoryFormat::kContiguous, 1, Averaging::kNo);
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  checkpoint::Manifest manifest{.step = kStep,
                                .images = 1,
                                .job_yaml = "a: 1\n",
                                .job_fingerprint = "f",
                                .model_fingerprint = "m",
                                .numerics = "n",
                                .data_fingerprint = "d",
                                .created = "2026-01-01T00:00:00Z"};
  const checkpoint::FileReport report =
      StateFiles({transport, lane, {&without}, std::chrono::seconds(20)}).save(temporary, kStep);
  manifest.files = {{report.name, 0, report.bytes, report.xxh3_128}};
  const fs::path saved = checkpoint::commit_checkpoint(temporary, manifest);

  gan::Network averaged = small_network("generator");
  NetworkState with(averaged, MemoryFormat::kContiguous, 1, Averaging::kYes);
  std::memset(with.average()->data(), 0, with.layout().size() * sizeof(float));
  StateFiles({transport, lane, {&with}, std::chrono::seconds(20)}).load(saved);
  for (const NetworkState::Place& place : with.places()) {
    EXPECT_TRUE(at::equal(NetworkState::view(with.average()->data(), place),
                          NetworkState::view(without.weights().data(), place)))
        << place.name;
  }
}

TEST_F(StateFilesTest, SavesNothingThatIsNotFinite) {
  const fs::path temporary = checkpoint::begin_checkpoint(folder("a"), kStep);
  on_workers(1, MemoryFormat::kChannelsLast, [&](int, Worker& worker, StateFiles& files) {
    fill(worker);
    worker.discriminator_state.weights().data()[3] = std::numeric_limits<float>::infinity();
    try {
      (void)files.save(temporary, kStep);
      ADD_FAILURE() << "an infinite weight was saved";
    } catch (const DivergedError& error) {
      EXPECT_NE(std::string(error.what()).find("'discriminator/0/weight'"), std::string::npos);
    }
  });
  EXPECT_FALSE(fs::exists(temporary / checkpoint::worker_file_name(0, 1)));
}

}  // namespace
}  // namespace gangway::worker
