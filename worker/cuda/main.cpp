// SPDX-License-Identifier: MIT
// gangway-worker-cuda: gangway-worker for jobs whose numerics.device is cuda.
#include <cstdlib>

#include <fmt/format.h>

#include "worker/cuda/cuda_device.hpp"
#include "worker/worker_program.hpp"

namespace gangway::worker {
namespace {

/// NCCL takes no two ranks of one host on one device; as ranks of several hosts it does. To be set
/// before its first call.
void pretend_hosts_where_devices_are_shared(const Neighbours& neighbours, int worker) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices < neighbours.workers_on_machine) {
    ::setenv("NCCL_HOSTID", fmt::format("gangway-worker-{}", worker).c_str(), /*overwrite=*/0);
  }
}

}  // namespace
}  // namespace gangway::worker

int main(int argc, char** argv) {
  using namespace gangway::worker;
  return worker_program(
      {argv, argv + argc}, "cuda",
      [](const gangway::JobSpec& job, const Neighbours& neighbours, int worker) {
        pretend_hosts_where_devices_are_shared(neighbours, worker);
        return make_cuda_device(job, neighbours);
      });
}
