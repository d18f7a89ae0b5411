// SPDX-License-Identifier: MIT
// The CUDA path carries a training as the CPU's path does: the same bits, on stand-ins whose
// arithmetic is the CPU's.
#include <gtest/gtest.h>

#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/cuda/cuda_device.hpp"

namespace gangway::fidelity {
namespace {

std::unique_ptr<worker::ComputeDevice> stand_in(const JobSpec& job,
                                                const worker::Neighbours& neighbours,
                                                int /*worker*/) {
  return worker::make_cuda_device(job, neighbours, [](const std::string& /*name*/) {});
}

class CudaTraining : public ::testing::Test {
 protected:
  CudaTraining() { write_tiny_images(images()); }
  ~CudaTraining() override { fake::dawdle(0); }

  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  Outcome on_cpu(const JobSpec& job, std::int64_t steps) {
    return train({.job = job, .end = steps}, next_folder());
  }
  Outcome on_devices(const JobSpec& job, int workers, std::int64_t begin, std::int64_t end,
                     const std::filesystem::path& resume = {}) {
    return train({.job = job,
                  .workers = workers,
                  .begin = begin,
                  .end = end,
                  .resume = resume,
                  .device = stand_in},
                 next_folder());
  }
  std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

class EveryCudaJob : public CudaTraining, public ::testing::WithParamInterface<std::size_t> {};

/// Those that there are for GPUs: fp16 is refused there (job/rules/rules.cpp).
std::vector<NamedJob> jobs_for_gpus(const std::filesystem::path& images) {
  std::vector<NamedJob> jobs = job_breadth(images);
  std::erase_if(jobs, [](const NamedJob& named) { return named.job.scales_losses(); });
  return jobs;
}

const std::vector<NamedJob>& named_jobs() {
  static const std::vector<NamedJob> jobs = jobs_for_gpus("");
  return jobs;
}

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

INSTANTIATE_TEST_SUITE_P(Breadth, EveryCudaJob,
                         ::testing::Range(std::size_t{0}, named_jobs().size()),
                         [](const auto& instance) { return named_jobs()[instance.param].name; });

TEST_F(CudaTraining, GoesOnFromACheckpointOnAnotherNumberOfWorkers) {
  const JobSpec job = small_dcgan(images());
  const Outcome one_go = on_cpu(job, 4);
  const Outcome half = on_devices(job, 3, 0, 2);
  EXPECT_EQ(on_devices(job, 2, 2, 4, half.checkpoint).digest, one_go.digest);
}

/// The stand-in's graphs have nothing of what LibTorch computes.
TEST_F(CudaTraining, PlaysNoGraphsThatLeaveOtherGradients) {
  JobSpec job = small_dcgan(images());
  job.numerics.cuda_graph = GraphChoice::kOn;
  EXPECT_EQ(on_devices(job, 2, 0, 6).digest, on_cpu(job, 6).digest);
}

TEST_F(CudaTraining, ComparesTheReplicasOfAllDevices) {
  JobSpec job = small_dcgan(images());
  job.layout.check_steps = 1;
  EXPECT_EQ(on_devices(job, 2, 0, 3).digest, on_cpu(job, 3).digest);
}

}  // namespace
}  // namespace gangway::fidelity
