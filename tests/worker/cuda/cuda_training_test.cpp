// SPDX-License-Identifier: MIT
// The CUDA path carries a training as the CPU's path does: the same bits, on stand-ins whose
// arithmetic is the CPU's.
#include "tests/worker/cuda/cuda_training.hpp"

#include <gtest/gtest.h>

#include "tests/comm/nccl/fake_nccl.hpp"

namespace gangway::fidelity {
namespace {

class EveryCudaJob : public CudaTraining, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryCudaJob, HasTheBitsOfTheCpusPath) {
  NamedJob named = jobs_for_gpus(images())[GetParam()];
  const Outcome reference = on_cpu(named.job, named.steps);
  const int most = named.name == "Infogan" ? 2 : 4;  // large for kernels of plain host code
  for (int workers = 1; workers <= most; ++workers) {
    named.job.layout.overlap = static_cast<Overlap>((GetParam() + workers) % 3);
    fake::dawdle(1 + GetParam() * 4 + workers);
    const Outcome carried = on_devices(named.job, workers, 0, named.steps);
    EXPECT_EQ(carried.digest, reference.digest) << workers << " workers";
    EXPECT_TRUE(same_losses(carried, reference)) << workers << " workers";
  }
  EXPECT_EQ(fake::num_communicators(), 0);
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryCudaJob, ::testing::Range(std::size_t{0}, gpu_jobs().size()),
                         [](const auto& instance) { return gpu_jobs()[instance.param].name; });

TEST_F(CudaTraining, GoesOnFromACheckpointOnAnotherNumberOfWorkers) {
  const JobSpec job = small_dcgan(images());
  const Outcome one_go = on_cpu(job, 4);
  const Outcome half = on_devices(job, 3, 0, 2);
  EXPECT_EQ(on_devices(job, 2, 2, 4, half.checkpoint).digest, one_go.digest);
}

/// The stand-in's graphs have nothing of what LibTorch computes.
TEST_F(CudaTraining, PlaysNoGraphsThatLeaveOtherGradients) {
  JobSpec job = small_dcgan(images());
  job.layout.cuda_graph = GraphChoice::kOn;
  EXPECT_EQ(on_devices(job, 2, 0, 6).digest, on_cpu(job, 6).digest);
}

TEST_F(CudaTraining, ComparesTheReplicasOfAllDevices) {
  JobSpec job = small_dcgan(images());
  job.layout.check_steps = 1;
  EXPECT_EQ(on_devices(job, 2, 0, 3).digest, on_cpu(job, 3).digest);
}

}  // namespace
}  // namespace gangway::fidelity
