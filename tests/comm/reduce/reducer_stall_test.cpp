// SPDX-License-Identifier: MIT
// Workers of one host fall silent. Shared memory does not show that its writer died; only the
// deadline does.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/lane.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr auto kTimeout = 120ms;

/// Three workers, the last two on one host, controlled by the test.
class StallTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string token = fresh_token();
    workers_.resize(3);
    spawn_ranks(3, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      transports_[index] = std::make_unique<LoopbackTransport>(hub_, rank);
      workers_[index] = std::make_unique<ToyWorker>(
          *transports_[index], layout_,
          ToySetup{.job = {6, 1, Clipping::kNone},
                   .timeout = kTimeout,
                   .hosts = {0, 1, 1},
                   .token = token,
                   .on_stall = [this](const std::string& text) { stalls_.push_back(text); }});
    });
  }

  [[nodiscard]] Reducer& reducer(std::size_t worker) { return workers_[worker]->reducer(); }
  void begin(std::size_t worker) {
    workers_[worker]->network().compute(0);
    workers_[worker]->network().open();
    (void)reducer(worker).all_ready();
  }
  /// Drives the workers until none can advance.
  void advance(std::vector<std::size_t> workers) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t worker : workers) {
        moved = reducer(worker).advance() || moved;
      }
    }
  }
  std::string failure_of(std::size_t worker) {
    const Deadline long_after(20s);
    try {
      while (!long_after.expired()) {
        (void)reducer(worker).advance();
      }
    } catch (const CommError& failure) {
      return failure.what();
    }
    return "none";
  }

  ArenaLayout layout_ = toy_layout();
  LoopbackHub hub_{3};
  std::unique_ptr<LoopbackTransport> transports_[3];
  std::vector<std::unique_ptr<ToyWorker>> workers_;
  std::vector<std::string> stalls_;  // of the worker that the test drives alone
};

TEST_F(StallTest, IsToldOnceAndThenAnErrorThatNamesWorkerNetworkBucketAndSeconds) {
  begin(1);
  EXPECT_THAT(failure_of(1), AllOf(MatchesRegex("rank 2 waited [0-9.]+ s for rank 3 .*"),
                                   HasSubstr("gradients of network 1, bucket 0"),
                                   HasSubstr("layout.timeout_seconds")));
  EXPECT_THAT(stalls_, ElementsAre(AllOf(HasSubstr("for rank 3"),
                                         HasSubstr("gradients of network 1, bucket 0"))));
}

TEST_F(StallTest, NamesTheFirstBucketThatIsMissing) {
  begin(0);
  begin(1);
  workers_[2]->network().compute(0);
  workers_[2]->network().open();
  reducer(2).bucket_ready(0);
  reducer(2).bucket_ready(1);
  advance({0, 1, 2});
  EXPECT_THAT(failure_of(1),
              AllOf(HasSubstr("for rank 3"), HasSubstr("gradients of network 1, bucket 2")));
}

TEST_F(StallTest, NamesAWorkerThatStopsAfterItsGradients) {
  begin(0);
  begin(1);
  begin(2);
  ASSERT_TRUE(reducer(2).advance());  // has its gradients, and never gets its sums
  advance({0, 1});
  EXPECT_THAT(failure_of(1),
              AllOf(HasSubstr("for rank 3"), HasSubstr("new weights of network 1, bucket 0")));
}

TEST_F(StallTest, NamesAWorkerOfAnotherHost) {
  begin(1);
  begin(2);
  advance({1, 2});
  EXPECT_EQ(reducer(1).needs(), Exchange::Need::kMessages);
  EXPECT_EQ(reducer(2).needs(), Exchange::Need::kMessages);
  EXPECT_THAT(failure_of(2),
              AllOf(HasSubstr("for rank 1"), HasSubstr("gradients of network 1, bucket 0")));
}

TEST_F(StallTest, IsNoneWhileTheOthersWaitForThisWorker) {
  begin(0);
  begin(1);
  workers_[2]->network().compute(0);
  workers_[2]->network().open();
  reducer(2).bucket_ready(0);
  const Deadline past(kTimeout + kTimeout / 2);
  while (!past.expired()) {
    ASSERT_NO_THROW((void)reducer(2).advance());
  }
  EXPECT_TRUE(stalls_.empty());
}

TEST_F(StallTest, OfNothingInHandIsNone) {
  const Deadline past(kTimeout + kTimeout / 2);
  while (!past.expired()) {
    ASSERT_FALSE(reducer(1).advance());
  }
  EXPECT_TRUE(stalls_.empty());
}

TEST_F(StallTest, ReachesTheComputeThreadThroughTheLane) {
  Lane lane([] {});
  lane.attach(reducer(1));
  lane.listen_to(workers_[1]->host(), Lane::Core::kShared);
  begin(1);
  lane.wake();
  try {
    lane.wait(reducer(1));
    ADD_FAILURE() << "the silent worker was not noticed";
  } catch (const CommError& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("for rank 3"));
  }
}

}  // namespace
}  // namespace gangway::comm
