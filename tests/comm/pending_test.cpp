// SPDX-License-Identifier: MIT
#include "comm/transport/pending.hpp"

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto kShort = 20ms;

/// Worker 0 of three, which awaits one value from each of the other workers.
class PendingTest : public testing::Test {
 protected:
  PendingTest() {
    for (const int peer : {1, 2}) {
      const auto value = std::as_writable_bytes(
          std::span(received_).subspan(static_cast<std::size_t>(peer - 1), 1));
      pending_.push_back({transport_.start_receive(peer, tag_, value), peer});
    }
  }

  void send_from(int worker) {
    LoopbackTransport sender(hub_, worker);
    const std::array<float, 1> value{static_cast<float>(worker)};
    EXPECT_TRUE(sender.done(sender.start_send(0, tag_, std::as_bytes(std::span(value)))));
  }

  std::string wait_failure(std::chrono::milliseconds timeout) {
    try {
      wait_all(transport_, pending_, Deadline(timeout), "gradients of bucket 5");
    } catch (const CommError& failure) {
      return failure.what();
    }
    return "";
  }

  LoopbackHub hub_{3};
  LoopbackTransport transport_{hub_, 0};
  MessageTag tag_{0, 1, MessageKind::kPartial, 5, 0};
  std::array<float, 2> received_{};
  std::vector<PendingRequest> pending_;
};

TEST_F(PendingTest, PollsWithoutWaitingAndKeepsWhatIsNotDone) {
  send_from(2);
  EXPECT_FALSE(poll_all(transport_, pending_));
  ASSERT_THAT(pending_, SizeIs(1));
  EXPECT_EQ(pending_[0].peer, 1);
}

TEST_F(PendingTest, WaitsUntilEverythingHasArrived) {
  send_from(1);
  send_from(2);
  EXPECT_EQ(wait_failure(10s), "");
  EXPECT_THAT(pending_, SizeIs(0));
  EXPECT_EQ(received_, (std::array<float, 2>{1.0F, 2.0F}));
}

TEST_F(PendingTest, NamesTheSilentWorkerAndWhatIsMissingAtTheDeadline) {
  send_from(1);
  EXPECT_THAT(wait_failure(kShort),
              AllOf(HasSubstr("rank 1 waited"), HasSubstr("for rank 3"),
                    HasSubstr("gradients of bucket 5"), HasSubstr("layout.timeout_seconds")));
}

TEST_F(PendingTest, TakesWhatHasArrivedEvenAfterTheDeadline) {
  send_from(1);
  send_from(2);
  EXPECT_EQ(wait_failure(0ms), "");
}

TEST_F(PendingTest, CanBeAwaitedAgainAfterTheDeadline) {
  send_from(1);
  EXPECT_NE(wait_failure(0ms), "");
  send_from(2);
  EXPECT_EQ(wait_failure(10s), "");
  EXPECT_EQ(received_[1], 2.0F);
}

TEST_F(PendingTest, HasNothingToWaitForWhenEmpty) {
  std::vector<PendingRequest> nothing;
  EXPECT_TRUE(poll_all(transport_, nothing));
  EXPECT_NO_THROW(wait_all(transport_, nothing, Deadline(0ms), "nothing"));
}

}  // namespace
}  // namespace gangway::comm
