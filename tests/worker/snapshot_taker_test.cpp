// SPDX-License-Identifier: MIT
#include "worker/state/snapshot_taker.hpp"

#include <chrono>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/snapshot_service_fixture.hpp"
#include "worker/step/network_updater.hpp"

namespace gangway::worker {
namespace {

using enum NetworkId;

/// One worker that owns and updates all of two networks.
class Taker : public ::testing::Test {
 protected:
  Taker() {
    fill(worker_);
    for (comm::Arena* mean : {&generator_mean_, &discriminator_mean_}) {
      std::fill(mean->data(), mean->data() + mean->size(), 0.5F);
    }
  }
  /// @param snapshot_step  step of the snapshot before which this update is the last
  void update(NetworkId network, std::optional<std::int64_t> snapshot_step) {
    NetworkState& state = *worker_.states()[static_cast<std::size_t>(network)];
    NetworkUpdater updater(state);
    updater.show_to(taker_.watcher(network));
    updater.prepare({.settings = {.lr = 0.01, .betas = {0.5, 0.9}},
                     .counts = {.updates = state.counts.updates++},
                     .average_decay = 0.75,
                     .snapshot_step = snapshot_step});
    const comm::Arena& mean = network == kGenerator ? generator_mean_ : discriminator_mean_;
    for (std::size_t bucket = 0; bucket < state.plan().num_buckets(); ++bucket) {
      const comm::ElementRange slice = state.plan().slice(bucket, 0);
      updater.update(slice, mean.range(slice));
    }
  }
  /// Returns the bytes that a snapshot must hold now, piece by piece.
  std::vector<std::byte> state() {
    std::vector<std::byte> bytes;
    for (const OwnedPiece& piece : owned_pieces(networks_, 0)) {
      const auto values = std::as_bytes(piece.values());
      bytes.insert(bytes.end(), values.begin(), values.end());
    }
    for (const NetworkState* network : networks_) {
      const auto updates = std::as_bytes(std::span(&network->counts.updates, 1));
      bytes.insert(bytes.end(), updates.begin(), updates.end());
    }
    return bytes;
  }
  std::vector<std::byte> snapshot(std::int64_t step) {
    std::vector<std::byte> bytes;
    if (const auto pinned = memory_.pin(step)) {
      EXPECT_EQ(checkpoint::damage_in(*pinned), std::nullopt);
      for (std::size_t i = 0; i < memory_.pieces().size(); ++i) {
        const auto piece = pinned->bytes(i);
        bytes.insert(bytes.end(), piece.begin(), piece.end());
      }
    }
    return bytes;
  }

  testing::ScratchFolder folder_;
  Worker worker_{1};
  std::vector<NetworkState*> networks_ = worker_.states();
  comm::Arena generator_mean_{networks_[0]->layout().size()};
  comm::Arena discriminator_mean_{networks_[1]->layout().size()};
  checkpoint::SnapshotMemory memory_{{.folder = folder_.path(),
                                      .run_directory = folder_.path(),
                                      .job_fingerprint = "f",
                                      .worker = 0,
                                      .num_workers = 1},
                                     snapshot_pieces(networks_, 0),
                                     3};
  SnapshotTaker taker_{{.networks = networks_}, memory_};
};

TEST_F(Taker, CopiesBehindTheUpdatesAndKeepsNobodyWaiting) {
  update(kDiscriminator, 5);
  update(kGenerator, 5);
  EXPECT_EQ(taker_.newest(), std::nullopt) << "the updates copied nothing themselves";
  while (taker_.advance(/*is_quiet=*/false)) {
  }
  EXPECT_EQ(taker_.newest(), 5);
  EXPECT_EQ(snapshot(5), state());
  EXPECT_GT(taker_.seconds(), 0.0);
  EXPECT_EQ(taker_.wait_seconds(), 0.0);
}

TEST_F(Taker, CopiesWhatIsLeftBeforeTheNextUpdateChangesIt) {
  update(kDiscriminator, 5);
  update(kGenerator, 5);
  const std::vector<std::byte> expected = state();
  (void)taker_.advance(/*is_quiet=*/false);
  update(kDiscriminator, {});
  update(kGenerator, {});
  EXPECT_EQ(taker_.newest(), 5);
  EXPECT_EQ(snapshot(5), expected);
  EXPECT_NE(snapshot(5), state());
  EXPECT_GT(taker_.wait_seconds(), 0.0);
}

TEST_F(Taker, FinishesASnapshotBeforeTheNextOneBegins) {
  update(kGenerator, 5);
  update(kDiscriminator, 5);
  const std::vector<std::byte> fifth = state();
  update(kGenerator, 6);
  EXPECT_EQ(taker_.newest(), 5);
  update(kDiscriminator, 6);
  taker_.copy_rest();
  EXPECT_EQ(taker_.newest(), 6);
  EXPECT_EQ(snapshot(5), fifth);
  EXPECT_EQ(snapshot(6), state());
}

TEST_F(Taker, FinishesWhatItPutOffBeforeItTakesAllAtOnce) {
  update(kGenerator, 5);
  update(kDiscriminator, 5);
  taker_.copy_all(6, std::chrono::steady_clock::now());
  EXPECT_EQ(snapshot(5), state());
  EXPECT_EQ(snapshot(6), state());
}

TEST_F(Taker, CountsFromWhenComputingBeganToStandStill) {
  taker_.copy_all(6, std::chrono::steady_clock::now() - std::chrono::seconds(2));
  EXPECT_GE(taker_.seconds(), 2.0);
  EXPECT_GE(taker_.wait_seconds(), 2.0);
}

TEST_F(Taker, RefusesWhatIsNotFinite) {
  generator_mean_.data()[3] = std::numeric_limits<float>::quiet_NaN();
  update(kDiscriminator, 5);
  update(kGenerator, 5);
  taker_.copy_rest();
  EXPECT_EQ(taker_.newest(), std::nullopt);
  EXPECT_NO_THROW(taker_.require_finite_before(5)) << "a loss of step 5 may be what shows it";
  try {
    taker_.require_finite_before(6);
    FAIL() << "a value of step 5 is not finite";
  } catch (const DivergedError& error) {
    EXPECT_EQ(error.step(), 6) << "whether a snapshot is taken does not follow from the job";
    EXPECT_NE(std::string(error.what()).find("'generator/"), std::string::npos) << error.what();
  }
}

TEST_F(Taker, LetsUpdatesGoOnBehindOneThatItGaveUp) {
  generator_mean_.data()[3] = std::numeric_limits<float>::quiet_NaN();
  update(kDiscriminator, 5);
  update(kGenerator, 5);
  update(kGenerator, {});  // first copies the postponed part
  update(kDiscriminator, {});
  EXPECT_FALSE(taker_.advance(/*is_quiet=*/true)) << "nothing is left to copy";
  EXPECT_EQ(taker_.newest(), std::nullopt);
}

TEST(TakerOfAFrozenNetwork, CopiesItBesideTheUpdatesOfTheOthers) {
  testing::ScratchFolder folder;
  gan::Network trained = small_network("generator");
  gan::Network frozen = small_network("discriminator");
  NetworkState state(trained, {});
  NetworkState still(frozen, {.is_frozen = true});
  EXPECT_TRUE(still.moments().empty());
  const std::vector<NetworkState*> networks{&state, &still};
  checkpoint::SnapshotMemory memory({.folder = folder.path(),
                                     .run_directory = folder.path(),
                                     .job_fingerprint = "f",
                                     .worker = 0,
                                     .num_workers = 1},
                                    snapshot_pieces(networks, 0), 3);
  SnapshotTaker taker({.networks = networks}, memory);
  EXPECT_FALSE(taker.is_empty());
  comm::Arena mean(state.layout().size());
  NetworkUpdater updater(state);
  updater.show_to(taker.watcher(kGenerator));
  for (const std::int64_t step : {5, 6}) {
    updater.prepare({.counts = {.updates = state.counts.updates++}, .snapshot_step = step});
    for (std::size_t bucket = 0; bucket < state.plan().num_buckets(); ++bucket) {
      const comm::ElementRange slice = state.plan().slice(bucket, 0);
      updater.update(slice, mean.range(slice));
    }
    taker.copy_rest();
    EXPECT_EQ(taker.newest(), step);
  }
  SnapshotTaker idle({.networks = {&still}}, memory);
  EXPECT_TRUE(idle.is_empty()) << "no update would begin its snapshots";
}

}  // namespace
}  // namespace gangway::worker
