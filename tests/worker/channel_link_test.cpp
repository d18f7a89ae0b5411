// SPDX-License-Identifier: MIT
#include "worker/link/channel_link.hpp"

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "run/messages/codec.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;

/// A coordinator whose next message comes after half of what the worker still waits.
class SlowCoordinator : public ControlChannel {
 public:
  void says(const messages::Message& message) {
    to_come_.push_back(messages::encode({.epoch = 5, .message = message}));
  }
  void says_nonsense() { to_come_.emplace_back("nonsense"); }
  [[nodiscard]] const std::vector<messages::Envelope>& heard() const { return heard_; }

  void send(std::string bytes) override { heard_.push_back(messages::decode(bytes, Rank(1))); }
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
  for (int i = 0; i < 5; ++i) {
    coordinator.says(messages::Patience{});
  }
  const messages::Welcome welcome{.epoch = 5, .run_id = "a run", .incarnation = 4};
  coordinator.says(welcome);
  const auto link = make_coordinator_link(coordinator);
  EXPECT_EQ(link->join({.rank = Rank(1)}, milliseconds(40)), welcome);
}

TEST(CoordinatorLink, GivesASilentCoordinatorUp) {
  SlowCoordinator coordinator;
  const auto link = make_coordinator_link(coordinator);
  EXPECT_THROW((void)link->join({.rank = Rank(1)}, milliseconds(20)), CommError);
}

TEST(CoordinatorLink, SaysWhichProcessItIsAndWhomItAccuses) {
  SlowCoordinator coordinator;
  coordinator.says(messages::Welcome{});
  const auto link = make_coordinator_link(coordinator);
  const messages::Hello hello{.rank = Rank(1), .process = own_process(), .shared_memory = 77};
  (void)link->join(hello, milliseconds(1000));
  EXPECT_EQ(coordinator.heard().front(), (messages::Envelope{.message = hello}));
  const messages::Stop stop{.exit_code = 3, .reason = "waited", .accused = Rank(3)};
  link->stop(stop);
  EXPECT_EQ(std::get<messages::Stop>(coordinator.heard().back().message), stop);
}

TEST(CoordinatorLink, NamesTheEpochOfTheWelcomeFromThenOn) {
  SlowCoordinator coordinator;
  coordinator.says(messages::Welcome{.epoch = 5});
  const auto link = make_coordinator_link(coordinator);
  (void)link->join({.rank = Rank(1)}, milliseconds(1000));
  EXPECT_EQ(coordinator.heard().back().epoch, 0);
  link->send(messages::Progress{.step = 3});
  EXPECT_EQ(coordinator.heard().back(),
            (messages::Envelope{.epoch = 5, .message = messages::Progress{.step = 3}}));
}

TEST(CoordinatorLink, AnswersAStopWithGoodbye) {
  SlowCoordinator coordinator;
  coordinator.says(messages::Stop{.exit_code = 75, .reason = "no need"});
  const auto link = make_coordinator_link(coordinator);
  try {
    (void)link->join({.rank = Rank(1)}, milliseconds(1000));
    FAIL() << "it goes on";
  } catch (const StoppedByCoordinator& stopped) {
    EXPECT_EQ(stopped.code(), ExitCode::kPreempted);
    EXPECT_STREQ(stopped.what(), "no need");
  }
  EXPECT_TRUE(std::holds_alternative<messages::Goodbye>(coordinator.heard().back().message));
}

TEST(CoordinatorLink, RefusesWhatIsNoAnswer) {
  SlowCoordinator coordinator;
  const auto link = make_coordinator_link(coordinator);
  const auto refusal = [&link] {
    try {
      (void)link->next_lease(milliseconds(1000));
    } catch (const InvariantError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  coordinator.says(messages::Begin{});
  EXPECT_EQ(refusal(), "rank 0: rank 0 sent a message of kind Begin instead of a lease");
  coordinator.says_nonsense();
  EXPECT_EQ(refusal(),
            "rank 0 sent an invalid message of 8 bytes (it ends too early): start all ranks "
            "from one build");
}

}  // namespace
}  // namespace gangway::worker
