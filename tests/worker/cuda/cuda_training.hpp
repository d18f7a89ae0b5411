// SPDX-License-Identifier: MIT
// Whole trainings on the CUDA path, on stand-ins whose arithmetic is the CPU's, beside the CPU's
// path.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/cuda/cuda_device.hpp"

namespace gangway::fidelity {

inline std::unique_ptr<worker::ComputeDevice> stand_in(const JobSpec& job,
                                                       const worker::Neighbours& neighbours,
                                                       int /*worker*/) {
  return worker::make_cuda_device(job, neighbours, [](const std::string& /*name*/) {});
}

class CudaTraining : public ::testing::Test {
 protected:
  CudaTraining() { write_tiny_images(images()); }
  ~CudaTraining() override { fake::dawdle(0); }

  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  static const Outcome& on_cpu(const JobSpec& job, std::int64_t steps) {
    return trained_alone(job, steps);
  }
  /// @param machines  as Stretch takes them
  Outcome on_devices(const JobSpec& job, int workers, std::int64_t begin, std::int64_t end,
                     const std::filesystem::path& resume = {},
                     const std::vector<int>& machines = {}) {
    return train({.job = job,
                  .workers = workers,
                  .begin = begin,
                  .end = end,
                  .resume = resume,
                  .machines = machines,
                  .device = stand_in},
                 next_folder());
  }
  static std::vector<int> two_to_a_host(int workers) {
    std::vector<int> hosts;
    for (int worker = 0; worker < workers; ++worker) {
      hosts.push_back(worker / 2);
    }
    return hosts;
  }
  std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

inline const std::vector<NamedJob>& gpu_jobs() {
  static const std::vector<NamedJob> jobs = job_breadth("");
  return jobs;
}

}  // namespace gangway::fidelity
