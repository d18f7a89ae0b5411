// SPDX-License-Identifier: MIT
// What a device's exchange tells about its waits, and what is fetched from a device, on stand-ins.
#include "worker/cuda/cuda_exchange.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "gan/blocks/build_networks.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/comm/lone_group.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

comm::CudaStream make_stream() {
  cudaStream_t stream = nullptr;
  comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
  return comm::CudaStream(stream);
}

/// A generator on a device.
struct PlacedGenerator {
  PlacedGenerator(int num_workers, cudaStream_t stream)
      : pair(gan::build_networks(job)),
        state(pair[kGenerator], {.format = job.numerics.memory_format,
                                 .num_workers = num_workers,
                                 .worker = num_workers - 1,
                                 .averaging = Averaging::kYes}) {
    auto placed = std::make_unique<DeviceNetwork>(state, state.own_slices(), at::kCPU, stream);
    memory = placed.get();
    state.place_on(std::move(placed));
  }
  JobSpec job = fidelity::small_dcgan("");
  PerNetwork<gan::Network> pair;
  NetworkState state;
  DeviceNetwork* memory;
};

TEST(CudaExchange, CountsTheTimeForWhichTheHostHadNotLaunched) {
  const comm::CudaStream stream = make_stream();
  comm::LoopbackHub hub(1);
  comm::LoopbackTransport transport(hub, 0);
  comm::Lane lane([] {});
  comm::HostGroup host = comm::lone_group(0);
  comm::NcclSession session({.id = comm::agree_on_unique_id(transport, 20s)});
  PlacedGenerator placed(1, stream.get());
  const ExchangeSetup setup{.transport = transport, .lane = lane, .host = host, .ranges = {{0, 1}}};
  std::optional<CudaExchange> exchange;
  exchange.emplace(
      CudaExchange::Setup{.state = placed.state,
                          .memory = *placed.memory,
                          .exchange = setup,
                          .session = session,
                          .job = placed.job,
                          .stream = stream.get(),
                          .wait_for_launches = [&] { exchange->wait_for_launches(); }});
  exchange->open_leaf();
  exchange->close_leaf(0);
  exchange->open(0, {.harvests = 1});

  constexpr auto kHeld = 20ms;
  std::atomic<int> records_before = -1;
  std::atomic<bool> was_recorded_first = false;
  (void)lane.submit([&] {  // while this goes on, the lane launches nothing
    const comm::Deadline deadline(10s);
    while ((records_before < 0 || fake::num_records() == records_before) && !deadline.expired()) {
      std::this_thread::yield();
    }
    was_recorded_first = !deadline.expired();
    comm::check(cudaStreamSynchronize(stream.get()), "a test's stream");
    std::this_thread::sleep_for(kHeld);
  });
  exchange->reduce();
  StepClock clock(2);
  clock.begin();
  records_before = fake::num_records();
  exchange->await();
  comm::check(cudaStreamSynchronize(stream.get()), "a test's stream");
  EXPECT_TRUE(was_recorded_first);
  const std::vector<Exposure> exposures = exchange->take_exposures();
  ASSERT_EQ(exposures.size(), 1U);
  EXPECT_GE(exposures.front().seconds, std::chrono::duration<double>(kHeld).count());
  EXPECT_GE(clock.take().parts.at(messages::index_of(messages::StepPart::kDevice)),
            std::chrono::duration<double>(kHeld).count());
  exchange.reset();
  session.finalize();
}

TEST(DeviceNetwork, FetchesWhatAWorkerOwnsAndNothingElse) {
  const comm::CudaStream stream = make_stream();
  PlacedGenerator placed(2, stream.get());
  const std::size_t elements = placed.state.layout().size();
  std::fill_n(placed.memory->weights(), elements, 7.0F);
  for (const comm::ElementRange slice : placed.state.own_slices()) {
    std::fill_n(placed.memory->moments()[0] + slice.begin, slice.size(), 7.0F);
  }
  const std::span<float> weights = placed.state.weights().range({0, elements});
  std::ranges::fill(weights, 1.0F);
  placed.state.fetch_own(1);
  std::size_t own = 0;
  for (std::size_t bucket = 0; bucket < placed.state.plan().num_buckets(); ++bucket) {
    const comm::ElementRange slice = placed.state.plan().slice(bucket, 1);
    own += slice.size();
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      ASSERT_EQ(weights[i], 7.0F) << i;
      ASSERT_EQ(placed.state.moments()[0].data()[i], 7.0F) << i;
    }
  }
  EXPECT_GT(own, 0U);
  EXPECT_LT(own, elements);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(weights, 1.0F)), elements - own);
}

}  // namespace
}  // namespace gangway::worker
