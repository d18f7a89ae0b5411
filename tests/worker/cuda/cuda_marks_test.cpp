// SPDX-License-Identifier: MIT
// Times of a device's work by events, on stand-ins with a stream that is as late as possible.
#include "worker/cuda/cuda_marks.hpp"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "run/messages/step_parts.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "worker/trace/device_clock.hpp"

namespace gangway::worker {
namespace {

using messages::StepPart;

constexpr auto kWork = std::chrono::milliseconds(2);

class CudaMarksTest : public ::testing::Test {
 protected:
  CudaMarksTest() {
    cudaStream_t stream = nullptr;
    comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
    stream_ = comm::CudaStream(stream);
    fake::lag(stream);
  }
  void work() {
    fake::enqueue(stream_.get(), [] { std::this_thread::sleep_for(kWork); });
  }
  void wait() { comm::check(cudaStreamSynchronize(stream_.get()), "a test's stream"); }

  comm::CudaStream stream_;
};

TEST_F(CudaMarksTest, SayForEachOfThemWhatTheDeviceTookOnceItHasComePast) {
  CudaMarks marks(stream_.get());
  marks.end();
  EXPECT_FALSE(marks.take()) << "there was none";
  marks.mark(3);
  work();
  marks.mark(5);
  marks.end();
  EXPECT_FALSE(marks.take()) << "the device is behind";
  marks.mark(7);  // belongs to the next series
  wait();
  const auto stretches = marks.take();
  ASSERT_TRUE(stretches);
  ASSERT_EQ(stretches->size(), 2U);
  EXPECT_EQ((*stretches)[0].tag, 3U);
  EXPECT_GE((*stretches)[0].seconds, 0.001);
  EXPECT_EQ((*stretches)[1].tag, 5U);
  EXPECT_LT((*stretches)[1].seconds, (*stretches)[0].seconds);
  EXPECT_FALSE(marks.take());
}

TEST_F(CudaMarksTest, NoticeWhereTheDeviceHasNothingLeftToDo) {
  CudaMarks marks(stream_.get());
  marks.mark(0);
  work();
  marks.mark(1);  // before the device begins the work
  wait();
  marks.mark(2);
  marks.end();
  wait();
  const auto stretches = marks.take();
  ASSERT_TRUE(stretches);
  EXPECT_FALSE((*stretches)[1].was_starved);
  EXPECT_TRUE((*stretches)[2].was_starved);
}

TEST_F(CudaMarksTest, AreNoneInWhatIsRecordedForLater) {
  CudaMarks marks(stream_.get());
  marks.mark(0);
  comm::check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "a capture");
  marks.mark(1);
  cudaGraph_t graph = nullptr;
  comm::check(cudaStreamEndCapture(stream_.get(), &graph), "a capture");
  const fake::CudaGraph owned(graph);
  marks.end();
  wait();
  EXPECT_EQ(marks.take().value().size(), 1U);
}

TEST_F(CudaMarksTest, OfADeviceClockAddUpByThePartsOfTheThread) {
  TimeLedger ledger;
  ledger.begin(messages::index_of(StepPart::kOther));
  DeviceClock clock(std::make_unique<CudaMarks>(stream_.get()), /*num_networks=*/1,
                    /*tick_steps=*/100);
  messages::StepFigures figures;
  for (int step = 0; step < 32; ++step) {
    clock.begin_step(step);
    {
      const PartScope part(messages::index_of(StepPart::kLeaves));
      work();
    }
    clock.end_step();
    { const PartScope between(messages::index_of(StepPart::kReport)); }
    wait();
    clock.tell(figures);
  }
  EXPECT_EQ(figures.device_steps, 2U) << "one of sixteen";
  EXPECT_EQ(figures.device_marks, 6U) << "other, leaves, other again";
  ASSERT_EQ(figures.device_parts.size(), messages::num_step_parts(1));
  EXPECT_GE(figures.device_parts[messages::index_of(StepPart::kLeaves)], 0.002);
  EXPECT_EQ(figures.device_parts[messages::index_of(StepPart::kReport)], 0.0);
}

TEST_F(CudaMarksTest, OfADeviceClockHaveAStepOfEachTickHoweverFewAreInIt) {
  TimeLedger ledger;
  ledger.begin(messages::index_of(StepPart::kOther));
  for (const std::int64_t tick_steps : {1, 2, 3, 5, 16, 20}) {
    DeviceClock clock(std::make_unique<CudaMarks>(stream_.get()), /*num_networks=*/1, tick_steps);
    std::int64_t told_of_tick = 1;
    for (std::int64_t step = 0; step < 60; ++step) {
      if (step % tick_steps == 0) {
        EXPECT_GT(told_of_tick, 0) << "a tick of " << tick_steps << " in front of step " << step;
        told_of_tick = step < 20 ? 1 : 0;  // the first steps are not measured
      }
      messages::StepFigures figures;
      clock.begin_step(step);
      clock.end_step();
      wait();
      clock.tell(figures);
      told_of_tick += static_cast<std::int64_t>(figures.device_steps);
    }
  }
}

TEST(DeviceClock, OfADeviceThatKeepsPaceSaysNothing) {
  DeviceClock clock(nullptr, 1, 100);
  messages::StepFigures figures;
  clock.begin_step(8);
  clock.end_step();
  clock.tell(figures);
  EXPECT_EQ(figures, messages::StepFigures());
}

}  // namespace
}  // namespace gangway::worker
