// SPDX-License-Identifier: MIT
// `gangway profile` of a job for GPUs, on stand-ins: marks measure a device that is as late as
// possible.
#include <ranges>
#include <vector>

#include <gtest/gtest.h>

#include "launch/profile/block_costs.hpp"
#include "launch/profile/measure_profile.hpp"
#include "launch/profile/one_worker.hpp"
#include "plan/ranking/make_plan.hpp"
#include "tests/worker/cuda/cuda_training.hpp"

namespace gangway::launch {
namespace {

class CudaProfile : public ::testing::Test {
 protected:
  CudaProfile() : job_(fidelity::small_dcgan(scratch_.path() / "images")) {
    fidelity::write_tiny_images(scratch_.path() / "images");
  }
  ~CudaProfile() override { worker::compute_on(0, nullptr); }

  testing::ScratchFolder scratch_;
  JobSpec job_;
};

std::vector<InstructionKind> kinds_of(OneWorker& worker) {
  InstructionSamples samples;
  (void)worker.run_step();
  (void)worker.run_step(&samples);
  std::vector<InstructionKind> kinds;
  for (const auto& [kind, seconds] : samples) {
    kinds.push_back(kind);
    EXPECT_FALSE(seconds.empty());
  }
  return kinds;
}

TEST_F(CudaProfile, HasTheInstructionsAndBlocksOfACpus) {
  OneWorker cpu(job_, std::make_unique<worker::CpuDevice>(job_));
  OneWorker device(job_, make_lone_device(job_, fidelity::stand_in));
  EXPECT_EQ(kinds_of(device), kinds_of(cpu));
  const auto none = [](double, const std::string&) {};
  const std::vector<plan::BlockCost> blocks = block_costs(device, 0.0, none);
  EXPECT_EQ(blocks.size(), block_costs(cpu, 0.0, none).size());
  for (const plan::BlockCost& block : blocks) {
    EXPECT_GT(block.forward.seconds, 0.0);
    EXPECT_GT(block.kept_bytes, 0);
  }
}

TEST_F(CudaProfile, IsOfTheGpusThatThereAreAndIsPlannedWith) {
  const ProfileOptions options{.job = "job.yaml",
                               .overrides = {},
                               .output = scratch_.path() / "profile.json",
                               .seconds = 0.1,
                               .hostfile = {},
                               .anyway = true};
  job_.numerics.device = DeviceKind::kCuda;
  EXPECT_EQ(measure_profile(options, job_, {}, fidelity::stand_in), 0);
  const plan::Profile profile = plan::read_profile(options.output);
  EXPECT_EQ(profile.processor, "stand-in");
  EXPECT_EQ(profile.devices, 1);
  EXPECT_EQ(profile.together, std::vector<double>{1.0});
  const plan::Cluster host = plan::profiled_host(profile);
  ASSERT_EQ(host.nodes.size(), 1U);
  EXPECT_EQ(host.num_devices(), 1);
  EXPECT_EQ(host.nodes.front().cores, 0) << "no worker slows another down";
  EXPECT_EQ(host.nodes.front().memory_bytes, std::int64_t{1} << 30);
}

}  // namespace
}  // namespace gangway::launch
