// SPDX-License-Identifier: MIT
// gangway-worker-cuda: gangway-worker for jobs whose numerics.device is cuda.
#include <cstdlib>

#include "worker/cuda/cuda_device.hpp"
#include "worker/worker_program.hpp"

int main(int argc, char** argv) {
  return gangway::worker::worker_program(
      {argv, argv + argc}, "cuda",
      [](const gangway::JobSpec& job, const gangway::worker::Neighbours& neighbours,
         int /*worker*/) {
        return gangway::worker::make_cuda_device(job, neighbours, [](const std::string& name) {
          (void)::setenv("NCCL_HOSTID", name.c_str(), /*overwrite=*/0);
        });
      });
}
