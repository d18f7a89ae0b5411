// SPDX-License-Identifier: MIT
// Whole trainings on the CUDA path, on stand-ins that compute as the CPU does, for comparison with
// the CPU's path.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "worker/cuda/cuda_device.hpp"

namespace gangway::fidelity {

inline std::unique_ptr<worker::ComputeDevice> stand_in(const Job& job, const Execution& execution,
                                                       const worker::Neighbours& neighbours,
                                                       int worker) {
  return worker::make_cuda_device(job, execution, neighbours, worker,
                                  [](const std::string& /*name*/) {});
}

class CudaTraining : public BesideOneWorker {
 protected:
  ~CudaTraining() override { fake::dawdle(0); }

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
  /// Expects that `job` on devices gives the state that one CPU worker trains.
  void expect_bits_of_a_cpu(const JobSpec& job, int workers, std::int64_t steps,
                            const std::vector<int>& machines) {
    const Outcome carried = on_devices(job, workers, 0, steps, {}, machines);
    EXPECT_EQ(carried.digest, on_cpu(job, steps).digest) << workers << " workers";
    EXPECT_TRUE(same_losses(carried, on_cpu(job, steps))) << workers << " workers";
    EXPECT_EQ(fake::num_communicators(), 0);
    std::filesystem::remove_all(carried.checkpoint);
  }
};

}  // namespace gangway::fidelity
