// SPDX-License-Identifier: MIT
// Waits that a device's exchange reports, and its transfers from a device, on stand-ins.
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
#include "worker/cuda/cuda_recorder.hpp"
#include "worker/cuda/torch_cuda.hpp"
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

/// The generator's exchange of a single worker.
struct LoneExchange {
  ~LoneExchange() {
    exchange.reset();
    session.finalize();
  }
  const comm::CudaStream stream = make_stream();
  comm::LoopbackHub hub{1};
  comm::LoopbackTransport transport{hub, 0};
  comm::Lane lane{[] {}};
  comm::HostGroup host = comm::lone_group(0);
  comm::NcclSession session{{.id = comm::agree_on_unique_id(transport, 20s)}};
  PlacedGenerator placed{1, stream.get()};
  const ExchangeSetup setup{.transport = transport, .lane = lane, .host = host, .ranges = {{0, 1}}};
  std::optional<CudaExchange> exchange{
      std::in_place,
      CudaExchangeSetup{.state = placed.state,
                        .memory = *placed.memory,
                        .exchange = setup,
                        .session = session,
                        .job = placed.job,
                        .transport = placed.job.layout.transport,
                        .stream = stream.get(),
                        .wait_for_launches = [this] { exchange->wait_for_launches(); }}};
};

TEST(CudaExchange, CountsTheTimeForWhichTheHostHadNotLaunched) {
  LoneExchange lone;
  const comm::CudaStream& stream = lone.stream;
  comm::Lane& lane = lone.lane;
  std::optional<CudaExchange>& exchange = lone.exchange;
  exchange->open_leaf();
  exchange->close_leaf(0);
  exchange->open(0, {.harvests = 1});

  constexpr auto kHeld = 20ms;
  std::atomic<int> records_before = -1;
  std::atomic<bool> was_recorded_first = false;
  (void)lane.submit([&] {  // until this task ends, the lane launches nothing
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
}

/// Stops the device at each place of a graph until the test opens it.
class Gates {
 public:
  void open(int gate) { opened_ = gate; }
  void pass(int gate) const {
    const comm::Deadline deadline(10s);
    while (opened_ < gate && !deadline.expired()) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> opened_ = 0;
};

float seen(const float* value) { return std::atomic_ref(*const_cast<float*>(value)).load(); }

TEST(CudaExchange, SendsWhatAGraphHasCompletedWhileTheRestOfItIsComputed) {
  LoneExchange lone;
  const cudaStream_t stream = lone.stream.get();
  CudaExchange& exchange = *lone.exchange;
  const std::vector<comm::ArenaEntry>& parameters = lone.placed.state.layout().parameters();
  float* const gradients = exchange.gradient_sums().mutable_data_ptr<float>();
  const std::size_t early = parameters.back().offset;
  const std::size_t late = parameters.front().offset;
  Gates gates;
  int launch = 0;
  const auto put = [&](std::size_t element, int gate) {
    fake::enqueue(stream, [&, element, gate] {
      gates.pass(2 * launch + gate);
      gradients[element] = static_cast<float>(launch);
    });
  };
  CudaRecorder recorder(stream);
  const ComputingOn computing(stream);
  const std::size_t graph = recorder.record([&] {
    exchange.open_leaf();
    exchange.rehearse();
    put(early, 1);
    for (std::size_t block = lone.placed.state.network().num_blocks(); block > 1; --block) {
      exchange.complete_block(block - 1);
    }
    put(late, 2);
    exchange.complete_block(0);
    exchange.close_leaf(0);
  });
  const std::vector<std::size_t> buckets = exchange.rehearsed();
  ASSERT_EQ(buckets.size(), lone.placed.state.group_plan().num_buckets());
  exchange.restart_leaves();

  const UpdatePlan update{.harvests = 1};
  const float* const moments = lone.placed.memory->moments()[0];
  float expected = 0.0F;
  for (launch = 1; launch <= 2; ++launch) {
    const float late_before = seen(moments + late);
    exchange.open(0, update);
    recorder.begin_step(1, launch);
    recorder.replay(graph);
    exchange.send_replayed(buckets);
    exchange.wait_for_launches();
    std::this_thread::sleep_for(2ms);  // time for work that does not wait for this launch
    gates.open(2 * launch + 1);
    const double decay = update.settings.betas[0];
    expected = static_cast<float>(decay * expected + (1.0 - decay) * launch);
    const comm::Deadline deadline(10s);
    while (seen(moments + early) != expected && !deadline.expired()) {
      std::this_thread::yield();
    }
    EXPECT_EQ(seen(moments + early), expected);
    EXPECT_EQ(seen(moments + late), late_before);
    gates.open(2 * launch + 2);
    exchange.reduce();
    exchange.await();
    comm::check(cudaStreamSynchronize(stream), "a test's stream");
    EXPECT_EQ(moments[late], expected);
  }
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
