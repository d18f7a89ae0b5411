// SPDX-License-Identifier: MIT
// The reduction over NCCL, under mpirun with one rank more than workers. Every worker runs every
// test, in step with the others, and compares with a plain computation on its host.
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/lane.hpp"
#include "comm/transport/pending.hpp"
#include "tests/gpu/gpu_network.hpp"
#include "tests/gpu/workers.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""s;
using Calls = NcclSession::Calls;

const MpiSession* g_mpi = nullptr;  // GoogleTest makes the tests; main makes the session before it
std::int64_t g_epoch = 0;           // every session is one of its own

class NcclWorkers : public GpuTest {
 protected:
  NcclWorkers() : transport_(*g_mpi, ++g_epoch, [] {}) {}

  /// True on all workers when `values` are worker 0's bits everywhere.
  [[nodiscard]] bool equal_everywhere(const std::vector<float>& values) {
    std::vector<float> first = values;
    const MessageTag tag{.epoch = transport_.epoch(), .network = 2, .kind = MessageKind::kGather};
    std::vector<PendingRequest> pending;
    for (int peer = 1; transport_.worker() == 0 && peer < transport_.num_workers(); ++peer) {
      pending.push_back({transport_.start_send(peer, tag, std::as_bytes(std::span(values))), peer});
    }
    if (transport_.worker() != 0) {
      pending.push_back(
          {transport_.start_receive(0, tag, std::as_writable_bytes(std::span(first))), 0});
    }
    wait_all(transport_, pending, Deadline(30s), "a test's weights");
    return same_bits(first, values);
  }

  void expect_equal_to_host(const GpuNetwork& network, cudaStream_t compute, const GpuJob& job) {
    const GpuJobResult expected(layout_, job);
    EXPECT_TRUE(same_bits(network.weights(compute), expected.weights));
    const std::vector<float> first = network.first_moment();
    const std::vector<float> average = network.average();
    for (std::size_t bucket = 0; bucket < network.plan().num_buckets(); ++bucket) {
      const ElementRange own = network.plan().slice(bucket, transport_.worker());
      const auto part = [&](const std::vector<float>& values) {
        return std::span(values).subspan(own.begin, own.size());
      };
      EXPECT_TRUE(same_bits(part(first), part(expected.first))) << "bucket " << bucket;
      EXPECT_TRUE(same_bits(part(average), part(expected.average))) << "bucket " << bucket;
    }
  }

  ArenaLayout layout_ = toy_layout();
  MpiTransport transport_;
};

TEST_F(NcclWorkers, ReduceToTheBitsOfOneHostWheneverBucketsAreReady) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  for (const int num_microbatches : {1, 4, 6}) {
    for (const BucketEvents events :
         {BucketEvents::kEarly, BucketEvents::kReversed, BucketEvents::kAtTheEnd}) {
      for (const std::size_t num_buckets : {4U, 13U}) {
        SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches, " << num_buckets
                                        << " buckets, events " << static_cast<int>(events));
        const GpuJob job{.num_microbatches = num_microbatches};
        GpuNetwork network(session, layout_, {.job = job, .num_buckets = num_buckets});
        for (int update = 1; update <= job.num_updates; ++update) {
          network.step(update, compute.get(), events);
        }
        expect_equal_to_host(network, compute.get(), job);
      }
    }
  }
  session.finalize();
}

/// The routes' hosts are pretended, two workers to each, then all on one; what NCCL takes for hosts
/// is another matter.
TEST_F(NcclWorkers, ReduceByHostsToTheBitsOfOneHost) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  const GpuJob job{.num_microbatches = 6};
  for (const int to_a_host : {2, transport_.num_workers()}) {
    SCOPED_TRACE(testing::Message() << to_a_host << " workers to a host");
    std::vector<int> hosts;
    for (int worker = 0; worker < transport_.num_workers(); ++worker) {
      hosts.push_back(worker / to_a_host);
    }
    GpuNetwork network(session, layout_, {.job = job, .num_buckets = 4, .hosts = hosts});
    for (int update = 1; update <= job.num_updates; ++update) {
      network.step(update, compute.get(), BucketEvents::kReversed);
    }
    expect_equal_to_host(network, compute.get(), job);
  }
  session.finalize();
}

TEST_F(NcclWorkers, ClipByTheNormOfOneHost) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  const GpuJob job{.num_microbatches = 6, .clip_norm = kToyClipNorm};
  GpuNetwork network(session, layout_, {.job = job, .num_buckets = 4});
  for (int update = 1; update <= job.num_updates; ++update) {
    network.step(update, compute.get(), BucketEvents::kEarly);
  }
  expect_equal_to_host(network, compute.get(), job);
  double squared_norm = 0.0;
  ASSERT_EQ(cudaMemcpy(&squared_norm, network.reducer().squared_norm(), sizeof squared_norm,
                       cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(squared_norm, GpuJobResult(layout_, job).squared_norm);
  session.finalize();
}

TEST_F(NcclWorkers, ReduceWhenTheirCallsBlock) {
  NcclSession session(session_setup(transport_, Calls::kBlocking));
  const CudaStream compute = make_compute_stream();
  const GpuJob job;
  GpuNetwork network(session, layout_, {.job = job, .num_buckets = 4});
  for (int update = 1; update <= job.num_updates; ++update) {
    network.step(update, compute.get(), BucketEvents::kEarly);
  }
  expect_equal_to_host(network, compute.get(), job);
  session.finalize();
}

TEST_F(NcclWorkers, ReduceTwoNetworksOverOneCommunicatorFromOneLane) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  const GpuJob job;
  GpuNetwork discriminator(session, layout_, {.job = job, .num_buckets = 4});
  GpuNetwork generator(session, layout_, {.job = job, .num_buckets = 2});
  Lane lane([] {});
  lane.attach(discriminator.reducer());
  lane.attach(generator.reducer());
  for (int update = 1; update <= job.num_updates; ++update) {
    for (GpuNetwork* network : {&discriminator, &generator}) {
      lane.wait(network->reducer());
      network->reducer().synchronise();
      network->compute_gradients(update);
      network->reducer().prepare(constants_of(update), compute.get());
      network->enqueue_gradients(compute.get(), BucketEvents::kEarly);
      lane.wake();
      // The next network's phase is opened when this one is launched; the GPU may still be at it.
      lane.wait(network->reducer());
      network->await(compute.get());
    }
  }
  lane.detach(discriminator.reducer());
  lane.detach(generator.reducer());
  expect_equal_to_host(discriminator, compute.get(), job);
  expect_equal_to_host(generator, compute.get(), job);
  session.finalize();
}

TEST_F(NcclWorkers, AgreeWithEachOtherOverASixteenBitWire) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  const GpuJob job;
  for (const WireType wire : {WireType::kBfloat16, WireType::kFloat16}) {
    GpuNetwork network(session, layout_, {.job = job, .num_buckets = 4, .wire = wire});
    for (int update = 1; update <= job.num_updates; ++update) {
      network.step(update, compute.get(), BucketEvents::kEarly);
    }
    const std::vector<float> weights = network.weights(compute.get());
    EXPECT_TRUE(equal_everywhere(weights));
    EXPECT_TRUE(std::ranges::all_of(weights, [](float value) { return std::isfinite(value); }));
  }
  session.finalize();
}

TEST_F(NcclWorkers, AgreeWithEachOtherInNcclsOwnOrder) {
  NcclSession session(session_setup(transport_));
  const CudaStream compute = make_compute_stream();
  const GpuJob job;
  GpuNetwork network(session, layout_,
                     {.job = job, .num_buckets = 4, .order = NcclOrder::kNcclOrder});
  for (int update = 1; update <= job.num_updates; ++update) {
    network.step(update, compute.get(), BucketEvents::kEarly);
  }
  const std::vector<float> weights = network.weights(compute.get());
  EXPECT_TRUE(equal_everywhere(weights));
  const GpuJobResult expected(layout_, job);
  std::size_t far = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // A gradient near zero may change its sign with the order: then Adam steps the other way.
    far += std::abs(weights[i] - expected.weights[i]) > 1e-4F ? 1U : 0U;
  }
  EXPECT_LE(far, weights.size() / 100);
  session.finalize();
}

TEST_F(NcclWorkers, MeetAgainInANewEpochAfterAnAbort) {
  const CudaStream compute = make_compute_stream();
  const GpuJob job;
  {
    NcclSession session(session_setup(transport_));
    GpuNetwork network(session, layout_, {.job = job});
    network.step(1, compute.get(), BucketEvents::kEarly);
    network.reducer().synchronise();
    session.abort("a test's reason");
    EXPECT_THROW(session.throw_if_failed(), CommError);
    network.reducer().open();
    network.all_ready(compute.get());
    EXPECT_THROW((void)network.reducer().advance(), CommError);
  }
  MpiTransport next(*g_mpi, ++g_epoch, [] {});
  NcclSession session(session_setup(next));
  GpuNetwork network(session, layout_, {.job = job});
  for (int update = 1; update <= job.num_updates; ++update) {
    network.step(update, compute.get(), BucketEvents::kEarly);
  }
  expect_equal_to_host(network, compute.get(), job);
  session.finalize();
}

TEST_F(NcclWorkers, NameTheWorkersThatDoNotCome) {
  if (transport_.num_workers() < 2) {
    GTEST_SKIP() << "a matter of two workers";
  }
  NcclSetup setup = session_setup(transport_, Calls::kNonBlocking, 2s);
  if (transport_.worker() == 0) {
    try {
      const NcclSession session(setup);
      ADD_FAILURE() << "met workers that did not come";
    } catch (const CommError& failure) {
      EXPECT_THAT(failure.what(), testing::HasSubstr("rank 1"));
    }
  }
  // All go on together: nobody ends MPI while another is still at this.
  EXPECT_TRUE(equal_everywhere({1.0F}));
}

}  // namespace
}  // namespace gangway::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gangway::comm::MpiSession session;
  gangway::comm::g_mpi = &session;
  int failed = 0;
  if (session.rank() != gangway::Rank(0)) {
    GTEST_FLAG_SET(brief, session.rank() != gangway::Rank(1));  // one full report is enough to read
    failed = RUN_ALL_TESTS();
  }
  session.finalize(failed, std::chrono::seconds(30));
  return failed;
}
