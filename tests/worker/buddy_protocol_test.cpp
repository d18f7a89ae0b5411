// SPDX-License-Identifier: MIT
#include "worker/buddies/buddy_protocol.hpp"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/buddies/buddies.hpp"

namespace gangway::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Buddies, AreOnTheNextHostAndSpreadOverItsWorkers) {
  EXPECT_THAT(buddies_of({0, 0, 0}), IsEmpty());
  EXPECT_THAT(buddies_of({0, 1}), ElementsAre(1, 0));
  EXPECT_THAT(buddies_of({7, 7, 3, 3, 3, 5}), ElementsAre(2, 3, 5, 5, 5, 0));
  EXPECT_THAT(buddies_of({}), IsEmpty());
}

/// Returns several pieces: one of many chunks, one empty.
std::vector<checkpoint::TensorStretch> pieces() {
  const std::uint64_t many = 3 * kCopyChunk / sizeof(float) + 11;
  return {{.name = "a", .shape = {7}, .begin = 0, .end = 7},
          {.name = "b", .shape = {static_cast<std::int64_t>(many)}, .begin = 0, .end = many},
          {.name = "c", .shape = {5}, .begin = 2, .end = 2},
          {.name = "d", .shape = {2}, .begin = 0, .end = 2}};
}

/// Forwards to another transport; a test may change arriving messages.
class Meddler final : public comm::Transport {
 public:
  explicit Meddler(comm::Transport& inner) : inner_(inner) {}
  int worker() const override { return inner_.worker(); }
  int num_workers() const override { return inner_.num_workers(); }
  std::int64_t epoch() const override { return inner_.epoch(); }
  comm::RequestId start_send(int peer, comm::MessageTag tag,
                             std::span<const std::byte> bytes) override {
    return inner_.start_send(peer, tag, bytes);
  }
  comm::RequestId start_receive(int peer, comm::MessageTag tag,
                                std::span<std::byte> bytes) override {
    last_ = bytes;
    return inner_.start_receive(peer, tag, bytes);
  }
  comm::RequestId start_receive_up_to(int peer, comm::MessageTag tag,
                                      std::span<std::byte> bytes) override {
    return inner_.start_receive_up_to(peer, tag, bytes);
  }
  bool done(comm::RequestId request) override {
    const bool is_done = inner_.done(request);
    if (is_done && flips > 0 && last_.size() == kCopyChunk) {
      last_[flip_at] ^= std::byte{4};
      --flips;
    }
    return is_done;
  }
  void idle() override { inner_.idle(); }

  int flips = 0;  // of the next chunks
  std::size_t flip_at = 1000;

 private:
  comm::Transport& inner_;
  std::span<std::byte> last_;
};

class SnapshotCopyTest : public ::testing::Test {
 protected:
  checkpoint::SnapshotPlace place(const char* host, int replica) {
    fs::create_directories(scratch_.path() / host);
    return {.folder = scratch_.path() / host,
            .run_directory = scratch_.path(),
            .job_fingerprint = "job",
            .worker = 0,
            .num_workers = 2,
            .replica = replica};
  }

  void take(std::int64_t step) {
    ASSERT_TRUE(own_.begin({.step = step, .epoch = 1}));
    for (std::size_t i = 0; i < own_.pieces().size(); ++i) {
      const std::vector<float> values(own_.pieces()[i].bytes() / sizeof(float),
                                      static_cast<float>(step) + 0.25F * static_cast<float>(i));
      own_.copy(i, std::as_bytes(std::span(values)));
    }
    own_.complete();
  }

  /// Advances both ends and the clock until neither makes progress.
  void run() {
    int still = 0;
    while (still < 3) {
      now_ += kCopyPace;
      const bool moved = sender_.advance(/*is_quiet=*/true);
      still = receiver_.advance() || moved ? 0 : still + 1;
    }
  }

  testing::ScratchFolder scratch_;
  checkpoint::SnapshotMemory own_{place("a", 0), pieces(), 3};
  checkpoint::SnapshotMemory copy_{place("b", 1), pieces(), 2};
  comm::LoopbackHub hub_{2};
  comm::LoopbackTransport ours_{hub_, 0};
  comm::LoopbackTransport theirs_{hub_, 1};
  Meddler meddled_{theirs_};
  std::vector<std::string> said_;
  CopySender::Clock::time_point now_{std::chrono::hours(1)};
  CopySender sender_{ours_, 1, own_, [this](const std::string& line) { said_.push_back(line); },
                     [this] { return now_; }};
  CopyReceiver receiver_{meddled_, 0, copy_};
};

TEST_F(SnapshotCopyTest, LiesOnTheOtherHostByteForByte) {
  take(7);
  sender_.want(7);
  run();
  EXPECT_EQ(sender_.copied(), 7);
  EXPECT_EQ(sender_.tried(), 7);
  const auto original = own_.pin(7);
  const auto copied = copy_.pin(7);
  ASSERT_TRUE(original && copied);
  EXPECT_EQ(checkpoint::damage_in(*copied), std::nullopt);
  for (std::size_t piece = 0; piece < own_.pieces().size(); ++piece) {
    EXPECT_TRUE(std::ranges::equal(copied->bytes(piece), original->bytes(piece))) << piece;
  }
  const std::vector<fs::path> host{scratch_.path() / "b"};
  const auto found =
      checkpoint::find_snapshots(host, checkpoint::snapshot_key(scratch_.path(), "job", {}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].replica, 1);
  EXPECT_EQ(found[0].id.step, 7);
}

TEST_F(SnapshotCopyTest, IsRefusedWhereItArrivesDamagedAndSentAgain) {
  std::int64_t step = 7;
  for (const std::size_t place :
       {std::size_t{3}, kCopyChunk - 1}) {  // in the first piece and in another one
    take(step);
    meddled_.flips = 1;
    meddled_.flip_at = place;
    sender_.want(step);
    run();
    EXPECT_THAT(said_,
                ElementsAre(HasSubstr("arrived damaged at rank 2: refused, and sent again")));
    EXPECT_EQ(sender_.copied(), step);
    EXPECT_EQ(checkpoint::damage_in(*copy_.pin(step)), std::nullopt);
    said_.clear();
    ++step;
  }
}

TEST_F(SnapshotCopyTest, IsGivenUpWhereItArrivesDamagedAgainAndAgain) {
  take(7);
  sender_.want(7);
  run();
  take(9);
  meddled_.flips = 1000;
  sender_.want(9);
  run();
  EXPECT_EQ(sender_.copied(), 7);
  EXPECT_EQ(sender_.tried(), 9);
  ASSERT_THAT(said_, SizeIs(3));
  EXPECT_THAT(said_.back(), HasSubstr("is not copied to rank 2: it arrived damaged 3 times"));
  EXPECT_FALSE(copy_.pin(9));
  EXPECT_EQ(checkpoint::damage_in(*copy_.pin(7)), std::nullopt) << "the generation before stays";
}

TEST_F(SnapshotCopyTest, KeepsTheOriginalUntilAllHaveTheirs) {
  take(7);
  sender_.want(7);
  run();
  for (const std::int64_t step : {8, 9, 10, 11}) {
    take(step);
  }
  EXPECT_TRUE(own_.pin(7)) << "copied, but nobody said that all are";
  own_.protect(11);
  sender_.release(7);
  take(12);
  take(13);
  take(14);
  EXPECT_FALSE(own_.pin(7));
}

TEST_F(SnapshotCopyTest, OverwritesNoCopyThatAllRelyOn) {
  take(7);
  sender_.want(7);
  run();
  copy_.protect(7);
  for (const std::int64_t step : {8, 9, 10}) {
    take(step);
    sender_.want(step);
    run();
    EXPECT_EQ(sender_.copied(), step);
    EXPECT_TRUE(copy_.pin(7));
  }
}

TEST_F(SnapshotCopyTest, WaitsForAQuietMomentButNotForEver) {
  take(7);
  sender_.want(7);
  EXPECT_TRUE(sender_.advance(/*is_quiet=*/false)) << "nothing was sent for long";
  while (sender_.advance(/*is_quiet=*/false) || receiver_.advance()) {
  }
  now_ += kCopyPatience - std::chrono::milliseconds(1);
  EXPECT_FALSE(sender_.advance(/*is_quiet=*/false));
  now_ += std::chrono::milliseconds(1);
  EXPECT_TRUE(sender_.advance(/*is_quiet=*/false));
  EXPECT_EQ(sender_.copied(), std::nullopt);
  run();
  EXPECT_EQ(sender_.copied(), 7);
}

TEST_F(SnapshotCopyTest, LeavesTheLinkTimeForEachChunk) {
  take(7);
  sender_.want(7);
  while (sender_.advance(/*is_quiet=*/true) || receiver_.advance()) {
  }
  now_ += kCopyPace - std::chrono::milliseconds(1);
  EXPECT_FALSE(sender_.advance(/*is_quiet=*/true));
  now_ += std::chrono::milliseconds(1);
  EXPECT_TRUE(sender_.advance(/*is_quiet=*/true));
}

TEST_F(SnapshotCopyTest, EndsInTheMiddleOfACopy) {
  take(7);
  sender_.want(7);
  for (int i = 0; i < 3; ++i) {
    sender_.advance(true);
    receiver_.advance();
  }
  sender_.close();
  run();
  EXPECT_TRUE(sender_.has_ended());
  EXPECT_TRUE(receiver_.has_ended());
  EXPECT_FALSE(copy_.pin(7));
}

TEST_F(SnapshotCopyTest, RefusesWhatIsNoPartOfASnapshot) {
  CopyHeader header{.kind = CopyHeader::kData, .bytes = std::uint64_t{1} << 40U};
  const comm::MessageTag tag{ours_.epoch(), 0, comm::MessageKind::kState, 1, 0};
  (void)ours_.start_send(1, tag, std::as_bytes(std::span(&header, 1)));
  EXPECT_THROW(run(), CommError);
}

}  // namespace
}  // namespace gangway::worker
