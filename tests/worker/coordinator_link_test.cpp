// SPDX-License-Identifier: MIT
#include <deque>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/proto/messages.pb.h"
#include "worker/link/coordinator_link_mpi.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;

/// A coordinator whose next message comes after half of what the worker still waits.
class SlowCoordinator : public ControlChannel {
 public:
  void says(const messages::Envelope& envelope) {
    to_come_.push_back(envelope.SerializeAsString());
  }
  [[nodiscard]] const std::vector<messages::Envelope>& heard() const { return heard_; }

  void send(std::string bytes) override { (void)heard_.emplace_back().ParseFromString(bytes); }
  std::optional<std::string> try_receive() override {
    return std::exchange(arrived_, std::nullopt);
  }
  bool wait(milliseconds limit) override {
    if (to_come_.empty()) {
      std::this_thread::sleep_for(limit);
      return false;
    }
    std::this_thread::sleep_for(limit / 2);
    arrived_ = to_come_.front();
    to_come_.pop_front();
    return true;
  }
  bool flush(milliseconds /*limit*/) override { return true; }

 private:
  std::deque<std::string> to_come_;
  std::optional<std::string> arrived_;
  std::vector<messages::Envelope> heard_;
};

TEST(CoordinatorLink, WaitsOnAsLongAsTheCoordinatorShowsThatItLives) {
  SlowCoordinator coordinator;
  messages::Envelope patience;
  patience.mutable_patience();
  for (int i = 0; i < 5; ++i) {
    coordinator.says(patience);
  }
  messages::Envelope welcome;
  welcome.mutable_welcome()->set_epoch(1);
  welcome.mutable_welcome()->set_run_id("a run");
  welcome.mutable_welcome()->set_incarnation(4);
  coordinator.says(welcome);
  const auto link = make_coordinator_link(coordinator);
  const WelcomeInfo info = link->join({.rank = 1}, milliseconds(40));
  EXPECT_EQ(info.run_id, "a run");
  EXPECT_EQ(info.incarnation, 4);
}

TEST(CoordinatorLink, GivesASilentCoordinatorUp) {
  SlowCoordinator coordinator;
  const auto link = make_coordinator_link(coordinator);
  EXPECT_THROW((void)link->join({.rank = 1}, milliseconds(20)), CommError);
}

TEST(CoordinatorLink, SaysWhichProcessItIsAndWhomItAccuses) {
  SlowCoordinator coordinator;
  messages::Envelope welcome;
  welcome.mutable_welcome();
  coordinator.says(welcome);
  const auto link = make_coordinator_link(coordinator);
  const ProcessIdentity self = own_process();
  (void)link->join({.rank = 1, .process = self, .shared_memory = 77}, milliseconds(1000));
  const messages::Hello& hello = coordinator.heard().front().hello();
  EXPECT_EQ(hello.pid(), self.pid);
  EXPECT_EQ(hello.boot_id(), self.boot_id);
  EXPECT_EQ(hello.start_ticks(), self.start_ticks);
  EXPECT_EQ(hello.shared_memory(), 77U);
  link->stop(ExitCode::kWorkerLost, "waited", /*accused=*/2);
  EXPECT_EQ(coordinator.heard().back().stop().accused(), 3) << "the rank of worker 2";
  link->stop(ExitCode::kWorkerLost, "lost", std::nullopt);
  EXPECT_EQ(coordinator.heard().back().stop().accused(), 0);
}

}  // namespace
}  // namespace gangway::worker
