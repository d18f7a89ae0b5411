// SPDX-License-Identifier: MIT
// How a session fails, on the stand-ins for CUDA and NCCL: named, in time, and without a wait for
// NCCL on the thread that notices.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/nccl/check_nccl.hpp"
#include "comm/nccl/shared_device.hpp"
#include "comm/transport/peer_error.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/comm/nccl/threads.hpp"
#include "tests/gpu/gpu_network.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;

template <typename Body>
std::string failure_of(const Body& body) {
  try {
    body();
  } catch (const CommError& failure) {
    return failure.what();
  }
  return "";
}

class NcclSessions : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(fake::num_communicators(), 0); }

  /// Gradients come on a stream of their own.
  static void step(GpuNetwork& network, int update) {
    const CudaStream compute = make_compute_stream();
    network.step(update, compute.get(), BucketEvents::kEarly);
    network.reducer().synchronise();
  }

  ArenaLayout layout_ = toy_layout();
};

TEST_F(NcclSessions, EndInGoodOrder) {
  run_workers(3, {}, [&](NcclSession& session) {
    session.finalize();
    EXPECT_THROW(session.group("a test's group", [](ncclComm_t) {}), InvariantError);
  });
}

TEST_F(NcclSessions, AreAbortedWhereNobodyEndsThem) {
  run_workers(2, {}, [](NcclSession&) {});
}

TEST_F(NcclSessions, SayThatTheOthersDidNotCome) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const std::string failure = failure_of([&] {
    const NcclSession session({.id = id, .worker = 1, .num_workers = 2, .meeting_timeout = 50ms});
  });
  EXPECT_THAT(failure,
              AllOf(HasSubstr("rank 2, of 2 workers"), HasSubstr("meeting the other workers"),
                    HasSubstr("layout.timeout_seconds")));
}

TEST_F(NcclSessions, NoticeAWorkerThatGoesSilent) {
  run_workers(3, {.timeout = 2s}, [&](NcclSession& session) {
    GpuNetwork network(session, layout_, {});
    step(network, 1);
    if (session.worker() == 2) {
      return;  // and the others wait for it
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::string failure = failure_of([&] { step(network, 2); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
    EXPECT_THAT(failure, AllOf(HasSubstr("a test's network"), HasSubstr("is a worker stopped?")));
    session.abort("after a loss");
    EXPECT_THROW(session.throw_if_failed(), CommError);
  });
}

TEST_F(NcclSessions, LetAPhaseTakeLongerThanTheExchangesBehindItMay) {
  run_workers(2, {.timeout = 300ms}, [&](NcclSession& session) {
    GpuNetwork network(session, layout_, {});
    const CudaStream compute = make_compute_stream();
    network.compute_gradients(1);
    network.reducer().prepare(constants_of(1), compute.get());
    fake::enqueue(compute.get(), [] { std::this_thread::sleep_for(800ms); });
    network.enqueue_gradients(compute.get(), BucketEvents::kEarly);
    (void)network.reducer().advance();
    network.await(compute.get());
    EXPECT_EQ(failure_of([&] { network.reducer().synchronise(); }), "");
    session.finalize();
  });
}

TEST_F(NcclSessions, PretendHostsOnlyWhereWorkersShareADevice) {
  const char* const one_each[] = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"};
  const char* const two_share[] = {"0000:01:00.0", "0000:02:00.0", "0000:01:00.0"};
  for (const auto* const buses : {one_each, two_share}) {
    LoopbackHub hub(3);
    spawn_ranks(3, [&](int worker) {
      fake::see_device(buses[worker]);  // as index 0, whichever it is
      LoopbackTransport transport(hub, worker);
      const DeviceSharing sharing = find_device_sharing(transport, 0, 20s);
      EXPECT_EQ(sharing.pretended_host.has_value(), buses == two_share && worker == 2)
          << "worker " << worker;
      EXPECT_EQ(sharing.is_any_shared, buses == two_share) << "worker " << worker;
    });
  }
}

TEST(DealtDevices, AreNotSharedWhereNoWorkerHasTo) {
  using Seen = std::vector<std::vector<std::uint64_t>>;
  const Seen all(4, {10, 11, 12, 13});
  EXPECT_EQ(dealt_devices(all), (std::vector{0, 1, 2, 3}));
  // Two sockets of four GPUs, and workers on them in turns: srun --gpu-bind=closest.
  Seen sockets;
  for (int worker = 0; worker < 8; ++worker) {
    sockets.push_back(worker % 2 == 0 ? std::vector<std::uint64_t>{10, 11, 12, 13}
                                      : std::vector<std::uint64_t>{14, 15, 16, 17});
  }
  EXPECT_EQ(dealt_devices(sockets), (std::vector{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(dealt_devices({{10, 11}, {10}}), (std::vector{1, 0})) << "the second has no choice";
  EXPECT_EQ(dealt_devices({{10}, {10}, {20}}), (std::vector{0, 0, 0})) << "two share, on one host";
}

TEST(OwnDevice, IsDealtByTheBusesThatAllWorkersSee) {
  fake::see_device("0000:01:00.0");
  std::vector<std::uint64_t> own;
  const auto exchange = [&own](std::uint64_t word) {
    own.push_back(word);
    // The other sees two: that of this worker, and another in front of it.
    return own.size() == 1 ? std::vector<std::uint64_t>{word, 2}
                           : std::vector<std::uint64_t>{word, own.size() == 2 ? 7 : own[1]};
  };
  EXPECT_EQ(own_device(1, 0, exchange), 0);
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[0], 1U);
  EXPECT_EQ(own[2], 0U) << "it sees no second";
}

TEST_F(NcclSessions, ReportWhatNcclFindsOutByItself) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  NcclSession session({.id = id, .worker = 0, .num_workers = 1, .timeout = 20s});
  fake::break_communicators(id, ncclRemoteError);
  const Deadline deadline(10s);
  std::string failure;
  while (failure.empty() && !deadline.expired()) {
    failure = failure_of([&] { session.throw_if_failed(); });
  }
  EXPECT_THAT(failure, AllOf(HasSubstr("rank 1, of 1 workers"), HasSubstr("remote error"),
                             HasSubstr("said by the stand-in")));
  EXPECT_THROW(session.group("a test's group", [](ncclComm_t) {}), CommError);
}

TEST_F(NcclSessions, AccuseTheOtherOfTwo) {
  run_workers(2, {.timeout = 200ms}, [&](NcclSession& session) {
    GpuNetwork network(session, layout_, {});
    step(network, 1);
    if (session.worker() == 1) {
      return;  // and the other waits for it
    }
    try {
      step(network, 2);
      FAIL() << "nobody has noticed";
    } catch (const PeerError& failure) {
      EXPECT_EQ(failure.worker(), WorkerIndex(1));
    }
  });
}

TEST_F(NcclSessions, FailInALaunchThatNcclRefuses) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  NcclSession session({.id = id, .worker = 0, .num_workers = 1, .timeout = 20s});
  std::vector<float> values(4);
  // The sum instead of the mean: the stand-in knows the mean only.
  const std::string failure = failure_of([&] {
    session.group("a test's group", [&](ncclComm_t communicator) {
      check(ncclAllReduce(values.data(), values.data(), 4, ncclFloat32, ncclSum, communicator,
                          session.stream()),
            "summing");
    });
  });
  EXPECT_THAT(failure, HasSubstr("summing"));
  EXPECT_THAT(failure_of([&] { session.throw_if_failed(); }),
              AllOf(HasSubstr("a test's group"), HasSubstr("summing")));
}

TEST_F(NcclSessions, MeetAgainInANewEpochAfterAnAbort) {
  const GpuJob job;
  const GpuJobResult expected(layout_, job);
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int worker) {
    for (const std::int64_t epoch : {0, 1}) {
      LoopbackTransport transport(hub, worker, epoch);
      NcclSession session({.id = agree_on_unique_id(transport, 20s),
                           .worker = worker,
                           .num_workers = 2,
                           .timeout = 20s});
      GpuNetwork network(session, layout_, {.job = job});
      step(network, 1);
      if (epoch == 0) {
        session.abort("a test's reason");
        network.reducer().open();
        EXPECT_THAT(failure_of([&] { (void)network.reducer().advance(); }),
                    HasSubstr("a test's reason"));
        continue;
      }
      step(network, 2);
      step(network, 3);
      EXPECT_TRUE(same_bits(network.weights(session.stream()), expected.weights));
      session.finalize();
    }
  });
}

}  // namespace
}  // namespace gangway::comm
