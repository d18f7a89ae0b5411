// SPDX-License-Identifier: MIT
// The order of calls around a CUDA graph, on stand-ins. cuda_training_test.cpp tests that graphs
// without LibTorch's work are noticed.
#include "worker/cuda/cuda_recorder.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/comm/nccl/fake_cuda.hpp"
#include "worker/cuda/torch_cuda.hpp"

namespace gangway::worker {
namespace {

class CudaRecorderTest : public ::testing::Test {
 protected:
  CudaRecorderTest() {
    cudaStream_t stream = nullptr;
    comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
    stream_ = comm::CudaStream(stream);
    compute_on(0, stream);
  }

  ~CudaRecorderTest() override { compute_on(0, nullptr); }

  /// Queues the addition of `number` to value_.
  void add(int number) {
    fake::enqueue(stream_.get(), [this, number] { value_ = 10 * value_ + number; });
  }
  /// The same on the stream on which LibTorch would compute.
  void add_where_computed(int number) {
    fake::enqueue(fake::computed_on(), [this, number] { value_ = 10 * value_ + number; });
  }
  [[nodiscard]] std::int64_t value() {
    comm::check(cudaStreamSynchronize(stream_.get()), "a test's stream");
    return value_;
  }

  comm::CudaStream stream_;
  std::int64_t value_ = 0;
};

TEST_F(CudaRecorderTest, RecordsWithoutDoingAndPlaysInTheOrderOfTheStream) {
  CudaRecorder recorder(stream_.get());
  const std::size_t first = recorder.record([this] {
    add(1);
    add(2);
  });
  const std::size_t second = recorder.record([this] { add(3); });
  EXPECT_EQ(value(), 0);
  recorder.begin_step(1, 7);
  recorder.replay(first);
  add(9);
  recorder.replay(second);
  EXPECT_EQ(value(), 1293);
  recorder.replay(second);
  EXPECT_EQ(value(), 12933);
}

/// Stand-ins run work without a waiter last, and later records first.
TEST_F(CudaRecorderTest, OrdersBranchesBehindWhatCameBeforeAndNotAmongThemselves) {
  CudaRecorder recorder(stream_.get(), 3);
  const std::size_t graph = recorder.record([&] {
    add(1);
    for (int wave = 0; wave < 2; ++wave) {
      recorder.side_by_side({[this] {
                               add_where_computed(2);
                               add_where_computed(3);
                             },
                             nullptr, [this] { add_where_computed(4); }});
      add(5);
    }
  });
  recorder.replay(graph);
  EXPECT_EQ(value(), 142354235);
  EXPECT_THROW((void)recorder.record([&] {
    recorder.side_by_side({[] { throw std::runtime_error("cannot be captured"); }});
  }),
               std::runtime_error);
  recorder.forget_all();
  EXPECT_EQ(recorder.record([this] { add(6); }), graph);
  recorder.replay(graph);
  EXPECT_EQ(value(), 1423542356);
}

TEST_F(CudaRecorderTest, ComputesOnWhereARecordingWasGivenUp) {
  CudaRecorder recorder(stream_.get());
  EXPECT_THROW((void)recorder.record([this] {
    add(1);
    throw std::runtime_error("cannot be captured");
  }),
               std::runtime_error);
  EXPECT_FALSE(fake::is_capturing(stream_.get()));
  add(2);
  EXPECT_EQ(value(), 2);
  recorder.replay(recorder.record([this] { add(3); }));
  EXPECT_EQ(value(), 23);
}

}  // namespace
}  // namespace gangway::worker
