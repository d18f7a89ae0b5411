// SPDX-License-Identifier: MIT
// Tensors on edges between devices, on the stand-ins: in order, in both directions at once, and
// released after their transfer.
#include "comm/nccl/tensor_edges.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/nccl/connect_peers.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/group_transport.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/gpu/gpu_network.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""min;

using Values = std::vector<float>;

TensorEdges::Memory memory_of(const std::shared_ptr<Values>& values) {
  return {.bytes = values->data(), .size = values->size() * sizeof(float), .owner = values};
}

std::shared_ptr<Values> values_of(std::size_t count, float value) {
  return std::make_shared<Values>(count, value);
}

/// Each pair of workers sends each other tensors.
class Edges {
 public:
  Edges(LoopbackHub& hub, int worker) : transport_(hub, worker), compute_(make_compute_stream()) {
    const int workers = hub.num_workers();
    std::map<TensorEdge, NcclSession*> sessions;
    for (int from = 0; from < workers; ++from) {
      for (int to = 0; to < workers; ++to) {
        if (from != to && (from == worker || to == worker)) {
          sessions[{from, to}] = &begin({from, to});
        }
      }
    }
    edges_ = std::make_unique<TensorEdges>(
        lane_, TensorEdgesSetup{
                   .worker = worker, .sessions = std::move(sessions), .compute = compute_.get()});
  }

  [[nodiscard]] TensorEdges& edges() { return *edges_; }
  [[nodiscard]] cudaStream_t compute() const { return compute_.get(); }
  void finish() {
    edges_->finish_sending();
    edges_.reset();
    for (auto& [edge, session] : sessions_) {
      session.finalize();
    }
  }

 private:
  NcclSession& begin(TensorEdge edge) {
    const auto [from, to] = edge;
    GroupTransport both(transport_, {std::min(from, to), std::max(from, to)});
    NcclSession& session =
        sessions_
            .try_emplace(edge, NcclSetup{.id = agree_on_unique_id(both, 10min),
                                         .worker = transport_.worker() == from ? 0 : 1,
                                         .num_workers = 2,
                                         .timeout = 10min,
                                         .meeting_timeout = 10min})
            .first->second;
    connect_one_way(session);
    return session;
  }

  LoopbackTransport transport_;
  CudaStream compute_;
  std::map<TensorEdge, NcclSession> sessions_;
  Lane lane_{[] {}};
  std::unique_ptr<TensorEdges> edges_;
};

class TensorEdgesTest : public ::testing::Test {
 protected:
  ~TensorEdgesTest() override {
    fake::dawdle(0);
    EXPECT_EQ(fake::num_communicators(), 0);
  }
};

class TensorEdgesAmong : public TensorEdgesTest, public ::testing::WithParamInterface<int> {};

TEST_P(TensorEdgesAmong, MeetInTheOrderOfEachEdgeWhateverThatOfOthers) {
  constexpr int kTensors = 5;
  const int workers = GetParam();
  const auto size_of = [](int number) { return static_cast<std::size_t>(10 + number); };
  const auto value_of = [](int from, int to, int number) {
    return static_cast<float>(100 * from + 10 * to + number);
  };
  fake::dawdle(static_cast<std::uint64_t>(workers));
  LoopbackHub hub(workers);
  spawn_ranks(workers, [&](int worker) {
    Edges own(hub, worker);
    std::map<std::pair<int, int>, std::pair<std::shared_ptr<Values>, TensorEdges::Ticket>> coming;
    for (int number = 0; number < kTensors; ++number) {
      for (int i = 1; i < workers; ++i) {
        // Half of the workers receive before they send, and no two pairs go round in one direction.
        const int peer = (worker + (worker % 2 == 0 ? i : workers - i)) % workers;
        const auto send = [&] {
          own.edges().send(peer,
                           memory_of(values_of(size_of(number), value_of(worker, peer, number))));
        };
        const auto receive = [&] {
          const auto place = values_of(size_of(number), -1.0F);
          coming[{peer, number}] = {place, own.edges().receive(peer, memory_of(place))};
        };
        worker % 2 == 0 ? send() : receive();
        worker % 2 == 0 ? receive() : send();
      }
    }
    for (auto& [key, one] : coming) {
      own.edges().await(one.second);
    }
    check(cudaStreamSynchronize(own.compute()), "a test's stream");
    for (const auto& [key, one] : coming) {
      const auto [peer, number] = key;
      EXPECT_THAT(*one.first, ::testing::Each(value_of(peer, worker, number)));
    }
    own.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, TensorEdgesAmong, ::testing::Values(2, 3, 4));

TEST_F(TensorEdgesTest, LetGoOfMemoryThatHasPassed) {
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int worker) {
    Edges own(hub, worker);
    const auto values = values_of(10, static_cast<float>(worker));
    if (worker == 0) {
      own.edges().send(1, memory_of(values));
      own.edges().finish_sending();
      EXPECT_EQ(values.use_count(), 1);
    } else {
      own.edges().await(own.edges().receive(0, memory_of(values)));
      check(cudaStreamSynchronize(own.compute()), "a test's stream");
      EXPECT_THAT(*values, ::testing::Each(0.0F));
    }
    own.finish();
  });
}

TEST_F(TensorEdgesTest, HaveTheHostAheadOfTheDeviceByNoMoreThanSomeTensors) {
  LoopbackHub hub(2);
  std::atomic<bool> is_ahead = false;
  spawn_ranks(2, [&](int worker) {
    Edges own(hub, worker);
    std::vector<std::pair<std::shared_ptr<Values>, TensorEdges::Ticket>> coming;
    for (std::size_t i = 0; worker == 1 && i <= TensorEdges::kMostAhead; ++i) {
      const auto place = values_of(10, -1.0F);
      coming.emplace_back(place, own.edges().receive(0, memory_of(place)));
    }
    while (worker == 0 && !is_ahead) {
      std::this_thread::yield();
    }
    for (std::size_t i = 0; worker == 0 && i <= TensorEdges::kMostAhead; ++i) {
      own.edges().send(1, memory_of(values_of(10, static_cast<float>(i))));
    }
    for (const auto& [place, ticket] : coming) {
      is_ahead = ticket == coming.back().second;  // no tensor was sent before it
      own.edges().await(ticket);
    }
    if (worker == 1) {
      EXPECT_THAT(*coming.front().first, ::testing::Each(0.0F));
    }
    own.finish();
  });
}

TEST_F(TensorEdgesTest, AreBetweenThoseThatWereToldOf) {
  LoopbackHub hub(1);
  Edges own(hub, 0);
  EXPECT_THROW(own.edges().send(1, memory_of(values_of(1, 0.0F))), InvariantError);
  own.finish();
}

}  // namespace
}  // namespace gangway::comm
