// SPDX-License-Identifier: MIT
// The reduction over MPI, under mpirun with one rank more than workers (rank 0 is the coordinator
// and idles). Every worker runs every test, in step with the others, and compares with one worker
// in its own process.
#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"
#include "comm/transport/segments.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;

const MpiSession* g_session =
    nullptr;  // GoogleTest makes the tests; main makes the session before it

class MpiTest : public testing::Test {
 protected:
  [[nodiscard]] static int num_workers() { return g_session->size() - 1; }
  [[nodiscard]] static int worker() { return worker_of(g_session->rank()).value(); }

  MpiTransport transport_{*g_session, 0, [] {}};
};

ToyResult run_one_worker(const ArenaLayout& layout, const ToyJob& job) {
  LoopbackHub hub(1);
  LoopbackTransport transport(hub, 0);
  return ToyWorker(transport, layout, {job, 1}).run();
}

/// Workers of one machine that share memory: none, all, or each two neighbours.
enum class Sharing { kNone, kAll, kPairs };

class MpiReductionTest : public MpiTest, public testing::WithParamInterface<Sharing> {
 protected:
  [[nodiscard]] static std::vector<int> hosts() {
    std::vector<int> hosts;
    for (int worker = 0; worker < num_workers(); ++worker) {
      hosts.push_back(GetParam() == Sharing::kNone  ? worker
                      : GetParam() == Sharing::kAll ? 0
                                                    : worker / 2);
    }
    return hosts;
  }
  /// Equal on all workers of the `number`-th job of a test: mpirun started them all.
  [[nodiscard]] static std::string token(int number) {
    return "mpi" + std::to_string(getppid()) + "x" + std::to_string(static_cast<int>(GetParam())) +
           "x" + std::to_string(number);
  }
};

/// All numbers of micro-batches and buckets: ReducerTest, on loopback.
TEST_P(MpiReductionTest, ReducesToTheSameBitsAsOneWorker) {
  const ArenaLayout layout = toy_layout();
  int number = 0;
  for (const int num_microbatches : {1, 7, 12}) {
    const ToyJob job{num_microbatches, 3, Clipping::kByNorm};
    const ToyResult expected = run_one_worker(layout, job);
    SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
    ToyWorker worker(transport_, layout,
                     {.job = job, .num_buckets = 3, .hosts = hosts(), .token = token(++number)});
    const ToyResult result = worker.run();
    EXPECT_TRUE(same_bits(result.weights, expected.weights));
    EXPECT_EQ(result.squared_norms, expected.squared_norms);
  }
}

TEST_P(MpiReductionTest, ReducesOnALaneToTheSameBitsAsOneWorker) {
  const ArenaLayout layout = toy_layout();
  for (const Clipping clipping : {Clipping::kNone, Clipping::kByNorm}) {
    const ToyJob job{6, 8, clipping};
    const ToyResult expected = run_one_worker(layout, job);
    const int number = 1000 + static_cast<int>(clipping);
    ToyWorker worker(transport_, layout, {.job = job, .hosts = hosts(), .token = token(number)});
    Lane lane([] {});
    const ToyResult result = worker.run(lane, 5);
    EXPECT_TRUE(same_bits(result.weights, expected.weights));
    EXPECT_EQ(result.squared_norms, expected.squared_norms);
  }
}

TEST_P(MpiReductionTest, ReducesToTheSameBitsWhereGradientsLeaveRoomForTensors) {
  transport_.bound_bulk(3000);  // less than a message: one segment at a time
  const ArenaLayout layout = toy_layout();
  const ToyJob job{6, 8, Clipping::kByNorm};
  const ToyResult expected = run_one_worker(layout, job);
  ToyWorker worker(transport_, layout, {.job = job, .hosts = hosts(), .token = token(2000)});
  Lane lane([] {});
  EXPECT_TRUE(same_bits(worker.run(lane, 5).weights, expected.weights));
}

TEST_P(MpiReductionTest, SendsNoMoreThanTheFormulaSays) {
  const ArenaLayout layout = toy_layout();
  const BucketPlan plan(layout, num_workers(), 3);
  ToyWorker worker(transport_, layout,
                   {.job = {12, 1, Clipping::kNone}, .hosts = hosts(), .token = token(2000)});
  const std::uint64_t sent = worker.run().bytes_sent;
  const std::uint64_t of_host =
      bytes_between_hosts(plan, this->worker(), hosts(), toy_ranges(12, num_workers()), 12);
  EXPECT_LE(sent, of_host);
  if (worker.host().size() == 1) {
    EXPECT_EQ(sent, of_host);
  }
}

INSTANTIATE_TEST_SUITE_P(Sharing, MpiReductionTest,
                         testing::Values(Sharing::kNone, Sharing::kAll, Sharing::kPairs));

/// Worker 0 sends to worker 1; the tests need two workers.
class MpiPairTest : public MpiTest {
 protected:
  void SetUp() override {
    if (worker() > 1 || num_workers() < 2) {
      GTEST_SKIP() << "a matter of workers 0 and 1";
    }
  }

  void send(int peer, MessageTag tag, std::span<const float> values) {
    std::vector<PendingRequest> pending{
        {transport_.start_send(peer, tag, std::as_bytes(values)), peer}};
    wait_all(transport_, pending, Deadline(60s), "a test's send");
  }

  void receive(int peer, MessageTag tag, std::span<float> values) {
    std::vector<PendingRequest> pending{
        {transport_.start_receive(peer, tag, std::as_writable_bytes(values)), peer}};
    wait_all(transport_, pending, Deadline(60s), "a test's value");
  }

  std::string failure_of_receive(MessageTag tag, std::span<float> values) {
    try {
      receive(0, tag, values);
    } catch (const CommError& failure) {
      return failure.what();
    }
    return "";
  }

  static constexpr MessageTag kValues{0, 0, MessageKind::kGather, 1, 0};
  static constexpr MessageTag kGo{0, 0, MessageKind::kBarrier, 0, 0};
};

TEST_F(MpiPairTest, RefusesAMessageThatIsTooShort) {
  if (worker() == 0) {
    send(1, kValues, std::vector<float>(3));
    return;
  }
  std::vector<float> values(4);
  EXPECT_THAT(failure_of_receive(kValues, values),
              AllOf(HasSubstr("rank 1 sent 12 bytes"), HasSubstr("where 16 were expected")));
}

TEST_F(MpiPairTest, RefusesAMessageThatIsTooLong) {
  if (worker() == 0) {
    send(1, kValues, std::vector<float>(5));
    return;
  }
  std::vector<float> values(4);
  EXPECT_THAT(failure_of_receive(kValues, values),
              AllOf(HasSubstr("rank 1"), HasSubstr("truncated")));
}

TEST_F(MpiPairTest, NamesASilentWorkerAtTheDeadlineAndStillTakesALateMessage) {
  std::vector<float> values(4);
  if (worker() == 0) {
    receive(1, kGo, values);
    send(1, kValues, std::vector<float>{1, 2, 3, 4});
    return;
  }
  const RequestId request =
      transport_.start_receive(0, kValues, std::as_writable_bytes(std::span(values)));
  std::vector<PendingRequest> pending{{request, 0}};
  try {
    wait_all(transport_, pending, Deadline(50ms), "what nobody sent");
    ADD_FAILURE() << "the silent worker was not noticed";
  } catch (const CommError& failure) {
    EXPECT_THAT(failure.what(),
                AllOf(HasSubstr("rank 2 waited"), HasSubstr("for rank 1 (what nobody sent)")));
  }
  send(0, kGo, std::vector<float>(4));
  wait_all(transport_, pending, Deadline(60s), "a late message");
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(MpiPairTest, TakesNothingFromAnEarlierEpoch) {
  const MessageTag earlier = kValues;
  MessageTag later = kValues;
  later.epoch = 1;
  if (worker() == 0) {
    send(1, earlier, std::vector<float>{6});
    send(1, later, std::vector<float>{7});
    return;
  }
  std::vector<float> value(1);
  receive(0, later, value);
  EXPECT_EQ(value[0], 7.0F);
  receive(0, earlier, value);
  EXPECT_EQ(value[0], 6.0F);
}

TEST_F(MpiPairTest, KeepsMessagesOfOneTagInOrder) {
  if (worker() == 0) {
    for (int i = 0; i < 100; ++i) {
      send(1, kValues, std::vector<float>{static_cast<float>(i)});
    }
    return;
  }
  for (int i = 0; i < 100; ++i) {
    std::vector<float> value(1);
    receive(0, kValues, value);
    ASSERT_EQ(value[0], static_cast<float>(i));
  }
}

TEST_F(MpiPairTest, TakesAMessageWhoseLengthOnlyItsSenderKnows) {
  for (const std::size_t size : {0U, 1U, 777U, 15'000U}) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 5.0F);
    if (worker() == 0) {
      send(1, kValues, values);
      continue;
    }
    std::vector<float> room(15'000);
    std::vector<PendingRequest> pending{
        {transport_.start_receive_up_to(0, kValues, std::as_writable_bytes(std::span(room))), 0}};
    wait_all(transport_, pending, Deadline(60s), "a test's value");
    EXPECT_TRUE(std::equal(values.begin(), values.end(), room.begin())) << size;
  }
}

TEST_F(MpiPairTest, KeepsGradientsBackWhereTensorsAreToFindLittleBeforeThem) {
  constexpr std::size_t kLong = 500'000;
  constexpr MessageTag kTensor{0, 0, MessageKind::kTensor, 0, 0};
  const std::array<MessageTag, 3> bulk{MessageTag{0, 0, MessageKind::kPartial, 0, 0},
                                       MessageTag{0, 0, MessageKind::kPartial, 0, 0},
                                       MessageTag{0, 0, MessageKind::kWeights, 0, 0}};
  transport_.bound_bulk(2 * kMostSegmentBytes);
  std::vector<std::vector<float>> values;
  std::vector<PendingRequest> pending;
  for (std::size_t i = 0; i < bulk.size(); ++i) {
    values.emplace_back(kLong, worker() == 0 ? static_cast<float>(i + 1) : 0.0F);
    const std::span<float> all(values.back());
    pending.push_back(
        worker() == 0
            ? PendingRequest{transport_.start_send(1, bulk[i], std::as_bytes(all)), 1}
            : PendingRequest{transport_.start_receive(0, bulk[i], std::as_writable_bytes(all)), 0});
  }
  std::vector<float> tensor(9);
  if (worker() == 0) {
    send(1, kTensor, std::vector<float>(9, 4.0F));
    receive(1, kGo, tensor);  // meanwhile nobody asks after the gradients
  } else {
    receive(0, kTensor, tensor);
    EXPECT_THAT(tensor, testing::Each(4.0F));
    for (const PendingRequest& one : pending) {
      EXPECT_FALSE(transport_.done(one.id));
    }
    EXPECT_EQ(values[2].front(), 0.0F);
    send(0, kGo, tensor);
  }
  wait_all(transport_, pending, Deadline(60s), "a test's gradients");
  for (std::size_t i = 0; i < bulk.size(); ++i) {
    EXPECT_THAT(values[i], testing::Each(static_cast<float>(i + 1)));
  }
}

TEST(MpiTransportPump, IsCalledWhileTheLaneWaits) {
  int pumped = 0;
  MpiTransport transport(*g_session, 0, [&] { ++pumped; });
  for (int i = 0; i < 1000; ++i) {
    transport.idle();
  }
  EXPECT_GE(pumped, 1);
}

}  // namespace
}  // namespace gangway::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gangway::comm::MpiSession session;
  gangway::comm::g_session = &session;
  int failed = 0;
  if (session.rank() != gangway::Rank(0)) {
    GTEST_FLAG_SET(
        brief,
        session.rank() !=
            gangway::Rank(1));  // one full report is enough to read; failures are told by all
    failed = RUN_ALL_TESTS();
  }
  session.finalize(failed,
                   std::chrono::seconds(100));  // rank 0 is done at once and waits for the others
  return failed;
}
