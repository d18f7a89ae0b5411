// SPDX-License-Identifier: MIT
// gangway-worker-cuda: gangway-worker for jobs whose numerics.device is cuda.
#include <cstdlib>
#include <string>

#include "comm/nccl/nccl_log.hpp"
#include "worker/cuda/cuda_device.hpp"
#include "worker/worker_program.hpp"

int main(int argc, char** argv) {
  // More than the default 8 device queues, because workers that send each other tensors use more
  // streams: a send behind a waiting receive in one queue would block.
  (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  const gangway::comm::NcclLog log;
  const bool is_asked = std::getenv("NCCL_DEBUG") != nullptr;  // then NCCL prints it itself
  if (!is_asked) {
    (void)::setenv("NCCL_DEBUG", "INFO", /*overwrite=*/1);
    (void)::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", /*overwrite=*/1);
    (void)::setenv("NCCL_DEBUG_FILE", log.path().c_str(), /*overwrite=*/1);
  }
  return gangway::worker::worker_program(
      {argv, argv + argc}, "cuda",
      [](const gangway::Job& job, const gangway::Execution& execution,
         const gangway::worker::Neighbours& neighbours, int worker) {
        return gangway::worker::make_cuda_device(
            job, execution, neighbours, worker, [](const std::string& name) {
              (void)::setenv("NCCL_HOSTID", name.c_str(), /*overwrite=*/0);
            });
      },
      [&] { return is_asked ? std::string() : log.network(); });
}
