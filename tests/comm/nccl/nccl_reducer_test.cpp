// SPDX-License-Identifier: MIT
// The NCCL reducer on the stand-ins for CUDA and NCCL: order of launches, events, messages.
// tests/gpu/nccl_reducer_test.cpp runs the same on a GPU.
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/lane.hpp"
#include "tests/comm/groupings.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/comm/nccl/sent_bytes.hpp"
#include "tests/comm/nccl/threads.hpp"
#include "tests/gpu/gpu_network.hpp"

namespace gangway::comm {
namespace {

using Calls = NcclSession::Calls;

void expect_equal_to_host(const GpuNetwork& network, int worker, cudaStream_t compute,
                          const GpuJobResult& expected) {
  EXPECT_TRUE(same_bits(network.weights(compute), expected.weights)) << "worker " << worker;
  const std::vector<float> first = network.first_moment();
  const std::vector<float> average = network.average();
  for (std::size_t bucket = 0; bucket < network.plan().num_buckets(); ++bucket) {
    const ElementRange own = network.plan().slice(bucket, worker);
    const auto part = [&](const std::vector<float>& values) {
      return std::span(values).subspan(own.begin, own.size());
    };
    EXPECT_TRUE(same_bits(part(first), part(expected.first))) << "bucket " << bucket;
    EXPECT_TRUE(same_bits(part(average), part(expected.average))) << "bucket " << bucket;
  }
}

/// All workers train `setup.job`; each must end with the bits of one host.
/// @return the bytes that their sessions count as sent
std::uint64_t expect_bits_of_one_host(int num_workers, const GpuNetwork::Setup& setup,
                                      BucketEvents events, const SessionChoice& choice = {}) {
  const ArenaLayout layout = toy_layout();
  const GpuJobResult expected(layout, setup.job);
  std::atomic<std::uint64_t> bytes_sent = 0;
  run_workers(num_workers, choice, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    GpuNetwork network(session, layout, setup);
    for (int update = 1; update <= setup.job.num_updates; ++update) {
      network.step(update, compute.get(), events);
    }
    expect_equal_to_host(network, session.worker(), compute.get(), expected);
    bytes_sent += session.bytes_sent();
    session.finalize();
  });
  return bytes_sent;
}

class NcclReducers : public testing::Test {
 protected:
  void TearDown() override { fake::dawdle(0); }
};

TEST_F(NcclReducers, ReduceToTheBitsOfOneHostOnAnyNumberOfWorkers) {
  for (const int num_workers : {1, 2, 3, 4, 7}) {
    for (const int num_microbatches : {1, 4, 6}) {
      SCOPED_TRACE(testing::Message()
                   << num_workers << " workers, " << num_microbatches << " micro-batches");
      expect_bits_of_one_host(num_workers,
                              {.job = {.num_microbatches = num_microbatches}, .num_buckets = 4},
                              BucketEvents::kEarly);
    }
  }
}

TEST_F(NcclReducers, DoNotMindWhenBucketsAreReadyOrHowLongStreamsTake) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const BucketEvents events :
         {BucketEvents::kEarly, BucketEvents::kReversed, BucketEvents::kAtTheEnd}) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", events " << static_cast<int>(events));
      fake::dawdle(seed);
      expect_bits_of_one_host(3, {.num_buckets = 13}, events);
    }
  }
}

TEST_F(NcclReducers, ClipByTheNormOfOneHost) {
  for (const int num_workers : {1, 2, 3}) {
    fake::dawdle(static_cast<std::uint64_t>(num_workers));
    expect_bits_of_one_host(
        num_workers, {.job = {.num_microbatches = 6, .clip_norm = kToyClipNorm}, .num_buckets = 4},
        BucketEvents::kReversed);
  }
}

TEST_F(NcclReducers, ReduceByHostsToTheBitsOfOneHostAndSendWhatTheFormulaSays) {
  const ArenaLayout layout = toy_layout();
  for (const Grouping& grouping : groupings()) {
    const int num_workers = static_cast<int>(grouping.hosts.size());
    for (const int num_microbatches : {6, 7}) {
      SCOPED_TRACE(testing::PrintToString(grouping.hosts));
      const GpuJob job{.num_microbatches = num_microbatches};
      fake::dawdle(static_cast<std::uint64_t>(num_microbatches));
      (void)fake::take_bytes_sent();
      const std::uint64_t told = expect_bits_of_one_host(
          num_workers, {.job = job, .num_buckets = 4, .hosts = grouping.hosts},
          BucketEvents::kReversed);
      std::uint64_t in_all = 0;
      std::vector<SentBytes> sent(grouping.hosts.size());
      for (const auto& [ends, bytes] : fake::take_bytes_sent()) {
        const auto from = static_cast<std::size_t>(ends.first);
        const auto to = static_cast<std::size_t>(ends.second);
        (grouping.hosts[from] == grouping.hosts[to] ? sent[from].within_host
                                                    : sent[from].between_hosts) += bytes;
        in_all += bytes;
      }
      EXPECT_EQ(told, in_all);
      const auto updates = static_cast<std::uint64_t>(job.num_updates);
      const BucketPlan plan(layout, num_workers, 4);
      for (int worker = 0; worker < num_workers; ++worker) {
        const SentBytes expected = sent_bytes(plan, toy_ranges(num_microbatches, num_workers),
                                              num_microbatches, worker, grouping.hosts);
        const SentBytes& own = sent[static_cast<std::size_t>(worker)];
        EXPECT_EQ(own.within_host, updates * expected.within_host) << "worker " << worker;
        EXPECT_EQ(own.between_hosts, updates * expected.between_hosts) << "worker " << worker;
      }
    }
  }
}

TEST_F(NcclReducers, ClipByTheNormOfOneHostByHosts) {
  fake::dawdle(11);
  expect_bits_of_one_host(5,
                          {.job = {.num_microbatches = 6, .clip_norm = kToyClipNorm},
                           .num_buckets = 4,
                           .hosts = {0, 0, 1, 1, 2}},
                          BucketEvents::kReversed);
}

TEST_F(NcclReducers, ReduceWhenTheirCallsBlock) {
  expect_bits_of_one_host(3, {.num_buckets = 4}, BucketEvents::kEarly, {.calls = Calls::kBlocking});
}

TEST_F(NcclReducers, ReduceTwoNetworksOverOneCommunicatorFromOneLane) {
  const ArenaLayout layout = toy_layout();
  const GpuJob job;
  const GpuJobResult expected(layout, job);
  fake::dawdle(5);
  run_workers(2, {}, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    GpuNetwork discriminator(session, layout, {.job = job, .num_buckets = 4});
    GpuNetwork generator(session, layout, {.job = job, .num_buckets = 2});
    Lane lane([] {});
    lane.attach(discriminator.reducer());
    lane.attach(generator.reducer());
    for (int update = 1; update <= job.num_updates; ++update) {
      for (GpuNetwork* network : {&discriminator, &generator}) {
        check(cudaStreamSynchronize(compute.get()), "a test's step");
        network->compute_gradients(update);
        network->reducer().prepare(constants_of(update), compute.get());
        network->enqueue_gradients(compute.get(), BucketEvents::kEarly);
        lane.wake();
        lane.wait(network->reducer());
        network->await(compute.get());
      }
    }
    expect_equal_to_host(discriminator, session.worker(), compute.get(), expected);
    expect_equal_to_host(generator, session.worker(), compute.get(), expected);
    lane.detach(discriminator.reducer());
    lane.detach(generator.reducer());
    session.finalize();
  });
}

TEST_F(NcclReducers, WaitForWhatIsLaunchedBeforeTheyFreeItsMemory) {
  const ArenaLayout layout = toy_layout();
  std::atomic<bool> is_leaving = false;
  run_workers(2, {}, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    {
      GpuNetwork network(session, layout, {.num_buckets = 4});
      while (session.worker() == 1 && !is_leaving) {
        std::this_thread::yield();
      }
      network.step(1, compute.get(), BucketEvents::kEarly);
      is_leaving = true;  // worker 1 has not yet sent to worker 0
    }
    check(cudaStreamSynchronize(compute.get()), "a test's step");
    session.finalize();
  });
  EXPECT_EQ(fake::num_freed_in_use(), 0);
}

/// Returns the weights of every worker after training `setup.job`.
std::map<int, std::vector<float>> weights_of_all(int num_workers, const GpuNetwork::Setup& setup) {
  const ArenaLayout layout = toy_layout();
  std::mutex mutex;  // guards the map
  std::map<int, std::vector<float>> weights;
  run_workers(num_workers, {}, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    GpuNetwork network(session, layout, setup);
    for (int update = 1; update <= setup.job.num_updates; ++update) {
      network.step(update, compute.get(), BucketEvents::kEarly);
    }
    std::vector<float> own = network.weights(compute.get());
    session.finalize();
    const std::scoped_lock lock(mutex);
    weights[session.worker()] = std::move(own);
  });
  return weights;
}

/// Returns the share of values that differ by more than `distance` from one host's.
double share_beyond(float distance, const std::vector<float>& weights, const GpuJob& job) {
  const GpuJobResult expected(toy_layout(), job);
  std::size_t far = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    far += std::abs(weights[i] - expected.weights[i]) > distance ? 1U : 0U;
  }
  return static_cast<double>(far) / static_cast<double>(weights.size());
}

TEST_F(NcclReducers, AgreeWithEachOtherOverASixteenBitWire) {
  for (const WireType wire : {WireType::kBfloat16, WireType::kFloat16}) {
    const auto weights = weights_of_all(3, {.num_buckets = 4, .wire = wire});
    EXPECT_TRUE(same_bits(weights.at(1), weights.at(0)));
    EXPECT_TRUE(same_bits(weights.at(2), weights.at(0)));
    EXPECT_GT(share_beyond(0.0F, weights.at(0), {}), 0.01) << "nothing was rounded";
    EXPECT_LT(share_beyond(1e-3F, weights.at(0), {}), 0.05);
  }
}

TEST_F(NcclReducers, RoundWhatGoesBetweenHostsAlone) {
  const std::vector<int> hosts{0, 0, 1, 1};
  (void)fake::take_bytes_sent();
  const GpuNetwork::Setup setup{.num_buckets = 4, .wire = WireType::kBfloat16, .hosts = hosts};
  const auto weights = weights_of_all(4, setup);
  std::uint64_t sent = 0;
  for (const auto& [ends, bytes] : fake::take_bytes_sent()) {
    sent += ends.first < 2 && ends.second >= 2 ? bytes : 0;
  }
  const BucketPlan plan(toy_layout(), 4, 4);
  const auto of = [&](int worker) {
    return sent_bytes(plan, toy_ranges(4, 4), 4, worker, hosts, WireFormat::kBf16).between_hosts;
  };
  EXPECT_EQ(sent, static_cast<std::uint64_t>(setup.job.num_updates) * (of(0) + of(1)));
  for (const auto& [worker, own] : weights) {
    EXPECT_TRUE(same_bits(own, weights.at(0))) << "worker " << worker;
  }
  EXPECT_GT(share_beyond(0.0F, weights.at(0), {}), 0.01) << "nothing was rounded";
  EXPECT_LT(share_beyond(1e-3F, weights.at(0), {}), 0.05);
  const auto on_one =
      weights_of_all(2, {.num_buckets = 4, .wire = WireType::kBfloat16, .hosts = {0, 0}});
  EXPECT_EQ(share_beyond(0.0F, on_one.at(1), {}), 0.0) << "one host has nothing to round";
}

TEST_F(NcclReducers, AgreeWithEachOtherInNcclsOwnOrder) {
  // Five workers share four micro-batches: one worker has no partial.
  for (const int num_workers : {2, 5}) {
    const auto weights =
        weights_of_all(num_workers, {.num_buckets = 4, .order = NcclOrder::kNcclOrder});
    for (const auto& [worker, own] : weights) {
      EXPECT_TRUE(same_bits(own, weights.at(0))) << "worker " << worker;
    }
    EXPECT_LT(share_beyond(1e-4F, weights.at(0), {}), 0.01);
  }
}

TEST_F(NcclReducers, LaunchInOrderWhicheverBucketFiresFirst) {
  const ArenaLayout layout = toy_layout();
  run_workers(1, {}, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    GpuNetwork network(session, layout, {.num_buckets = 4});
    network.compute_gradients(1);
    network.reducer().prepare(constants_of(1), compute.get());
    network.reducer().open();
    network.reducer().bucket_ready(2, compute.get());
    network.reducer().bucket_ready(2, compute.get());
    EXPECT_FALSE(network.reducer().advance()) << "bucket 0 comes first";
    network.all_ready(compute.get());
    EXPECT_EQ(network.reducer().needs(), Exchange::Need::kCompute);
    EXPECT_TRUE(network.reducer().advance());
    EXPECT_EQ(network.reducer().needs(), Exchange::Need::kNothing);
    network.await(compute.get());
    check(cudaStreamSynchronize(compute.get()), "a test's step");
    session.finalize();
  });
}

TEST_F(NcclReducers, RefuseToAwaitWhatIsNotLaunched) {
  const ArenaLayout layout = toy_layout();
  run_workers(1, {}, [&](NcclSession& session) {
    const CudaStream compute = make_compute_stream();
    GpuNetwork network(session, layout, {.num_buckets = 4});
    network.reducer().open();
    network.reducer().bucket_ready(0, compute.get());
    (void)network.reducer().advance();
    network.reducer().await_bucket(0, compute.get());
    EXPECT_THROW(network.reducer().await_bucket(1, compute.get()), InvariantError);
    EXPECT_THROW(network.await(compute.get()), InvariantError);
    EXPECT_THROW(network.reducer().open(), InvariantError);
    network.all_ready(compute.get());
    (void)network.reducer().advance();
    network.reducer().synchronise();
    session.finalize();
  });
}

TEST_F(NcclReducers, RefuseWhatNcclsOwnOrderCannotDo) {
  const ArenaLayout layout = toy_layout();
  run_workers(1, {}, [&](NcclSession& session) {
    EXPECT_THROW(
        GpuNetwork(session, layout, {.job = {.clip_norm = 1.0}, .order = NcclOrder::kNcclOrder}),
        InvariantError);
    EXPECT_THROW(
        GpuNetwork(session, layout, {.order = NcclOrder::kNcclOrder, .wire = WireType::kFloat16}),
        InvariantError);
    session.finalize();
  });
}

}  // namespace
}  // namespace gangway::comm
