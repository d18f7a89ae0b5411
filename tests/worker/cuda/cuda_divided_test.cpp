// SPDX-License-Identifier: MIT
// Cut networks and networks on separate workers, on the CUDA path: the bits of one CPU worker.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "job/layout/stage_cuts.hpp"
#include "tests/worker/cuda/cuda_training.hpp"
#include "tests/worker/cuda/fake_torch_cuda.hpp"

namespace gangway::fidelity {
namespace {

/// Cut networks and networks on separate workers. Transports alternate: tensors through host memory
/// (the stand-ins share a device) with gradients by hosts, or flat NCCL.
class EveryDividedCudaJob : public CudaTraining, public ::testing::WithParamInterface<std::size_t> {
 protected:
  /// @param number  chosen so that all pairs of values occur
  void expect_bits_in_stages(JobSpec job, std::int64_t steps, std::size_t number) {
    job.layout.stages = 2;
    job.layout.transport = transport_of(number / 2);
    job.layout.overlap = static_cast<Overlap>(number % 3);
    job.layout.schedule = std::array{StageOrder::kFill, StageOrder::kZeroBubble,
                                     StageOrder::kOneForwardOneBackward}[number / 3 % 3];
    job.layout.placement = number % 5 < 3 ? StagePlacement::kLoop : StagePlacement::kV;
    const int workers = number % 2 == 0 ? 2 : 4;
    fake::dawdle(1 + number);
    expect_bits_of_a_cpu(job, workers, steps, two_to_a_host(workers));
  }
  void expect_bits_apart(JobSpec job, std::int64_t steps, std::size_t number) {
    int workers = 0;
    for (const NetworkId network : job.networks.ids()) {  // one worker, or two for later networks
      const int index = static_cast<int>(network);
      job.layout.networks[network].workers =
          index == 0 ? std::vector<int>{0} : std::vector<int>{index, index + 1};
      workers = index + (index == 0 ? 1 : 2);
    }
    job.layout.transport = transport_of(number + 1);
    job.layout.overlap = static_cast<Overlap>((number + 1) % 3);
    fake::dawdle(100 + number);
    expect_bits_of_a_cpu(job, workers, steps, two_to_a_host(workers));
  }
  static TransportKind transport_of(std::size_t number) {
    return number % 2 == 0 ? TransportKind::kNccl : TransportKind::kAuto;
  }
};

/// Each job is divided in one of both ways; on CPUs it is in both (stages_test.cpp,
/// apart_test.cpp).
TEST_P(EveryDividedCudaJob, HasTheBitsOfOneWorkerInStagesOrApart) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.training.translation.pool = 0;
  if (job.scales_losses()) {
    GTEST_SKIP() << "refused (job/rules/placement_rules.cpp)";
  }
  JobSpec staged = job;
  staged.layout.stages = 2;
  const bool is_cut = std::ranges::any_of(chunks_of(staged, staged.layout),
                                          [](const auto& one) { return one.size() > 1; });
  for (const std::size_t turn : testing::turns(GetParam(), 2)) {
    if (turn == 0 && is_cut) {
      expect_bits_in_stages(job, named.steps, GetParam() / 2);
    } else {
      expect_bits_apart(job, named.steps, GetParam() / 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryDividedCudaJob, every_small_job(), name_of_job);

/// In the first steps of each list of instructions, calls of LibTorch may wait for the whole
/// device. No NCCL message may then wait on a device for a worker that is in such a call.
class FirstSteps : public CudaTraining {
 protected:
  ~FirstSteps() override { fake::wait_in_calls(false); }
};

TEST_F(FirstSteps, WaitForTheWholeDeviceAndForNobodyElse) {
  constexpr std::int64_t kSteps = 4;  // two with the penalty, two without it
  JobSpec job = small_dcgan(images());
  job.training.penalty.r1_gamma = 2.0;
  job.training.penalty.r1_interval = 2;
  job.model.activation = Activation::kSoftplus;
  const Outcome& reference = on_cpu(job, kSteps);
  job.layout.transport = TransportKind::kNccl;
  job.layout.timeout_seconds = 20;
  job.layout.schedule = StageOrder::kOneForwardOneBackward;
  job.layout.stages = 2;
  fake::wait_in_calls(true);
  EXPECT_EQ(on_devices(job, 2, 0, kSteps).digest, reference.digest);
}

/// Page-locking may wait for the whole device, on which messages may be queued later.
TEST_F(FirstSteps, HaveAllPageLockedMemoryOfBatches) {
  const JobSpec job = small_dcgan(images());
  const auto locked_in = [&](std::int64_t steps) {
    const int before = fake::times_locked();
    (void)on_devices(job, 1, 0, steps);
    return fake::times_locked() - before;
  };
  const int locked = locked_in(1);
  fake::dawdle(1);  // the host runs ahead, and batches wait for the device
  EXPECT_EQ(locked_in(6), locked);
}

TEST_F(CudaTraining, GoesOnInStagesAndApartFromWhatOneWorkerLeft) {
  JobSpec job = small_dcgan(images());
  const std::string one_go = on_cpu(job, 3).digest;
  const Outcome first = on_devices(job, 1, 0, 1);
  job.layout.stages = 2;
  const Outcome second = on_devices(job, 4, 1, 2, first.checkpoint);
  job.layout.stages = 1;
  job.placement("generator").workers = {1};
  job.placement("discriminator").workers = {0};
  EXPECT_EQ(on_devices(job, 2, 2, 3, second.checkpoint).digest, one_go);
}

}  // namespace
}  // namespace gangway::fidelity
