// SPDX-License-Identifier: MIT
// An exchange must not allocate, neither on the lane nor on the compute thread.
#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/lane.hpp"
#include "comm/reduce/reducer.hpp"
#include "tests/allocation_count.hpp"
#include "tests/comm/rendezvous_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

/// Returns the allocations of all threads in twenty exchanges of `job`, after some uncounted ones.
int allocations_of(const ToyJob& job, const std::vector<int>& hosts,
                   WireFormat wire = WireFormat::kFp32) {
  constexpr int kWarmUp = 3;
  constexpr int kCounted = 20;
  const int num_workers = static_cast<int>(hosts.size());
  const ArenaLayout layout = toy_layout();
  const std::string token = fresh_token();
  RendezvousHub hub(num_workers);
  std::barrier all_here(num_workers);
  spawn_ranks(num_workers, [&](int rank) {
    RendezvousTransport transport(hub, rank);
    ToyWorker worker(transport, layout, {.job = job, .hosts = hosts, .token = token, .wire = wire});
    ToyNetwork& network = worker.network();
    const std::vector<std::size_t> order{1, 0, 2};
    Lane lane([] {});
    lane.attach(network.reducer());
    lane.listen_to(worker.host(), Lane::Core::kShared);
    for (int step = 0; step < kWarmUp + kCounted; ++step) {
      if (step == kWarmUp) {
        all_here.arrive_and_wait();
        testing::start_counting_allocations();
      }
      network.open();
      network.compute(step, order, lane);
      lane.wait(network.reducer());
    }
    all_here.arrive_and_wait();
    testing::stop_counting_allocations();
    all_here.arrive_and_wait();
    lane.stop_listening();
    lane.detach(network.reducer());
  });
  return testing::take_allocation_count();
}

TEST(Allocations, AreCountedOnEveryThread) {  // the other tests rely on this
  testing::start_counting_allocations();
  std::jthread([] { std::vector<float>(100).data()[0] = 1.0F; }).join();
  testing::stop_counting_allocations();
  EXPECT_GE(testing::take_allocation_count(), 1);
}

TEST(Allocations, AreNoneInAnExchange) {
  for (const Clipping clipping : {Clipping::kNone, Clipping::kByNorm}) {
    for (const std::vector<int>& hosts : {std::vector<int>{0}, {0, 0}, {0, 1}, {0, 0, 1}}) {
      EXPECT_EQ(allocations_of({4, 0, clipping}, hosts), 0)
          << hosts.size() << " workers, "
          << (clipping == Clipping::kNone ? "not clipped" : "clipped");
    }
  }
}

TEST(Allocations, AreNoneInAnExchangeThatRounds) {
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kFp16}) {
    EXPECT_EQ(allocations_of({4, 0, Clipping::kNone}, {0, 0, 1}, wire), 0);
  }
}

}  // namespace
}  // namespace gangway::comm
