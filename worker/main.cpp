// SPDX-License-Identifier: MIT
// gangway-worker: a worker that computes on its CPU.
#include "base/errors.hpp"
#include "worker/worker_program.hpp"

int main(int argc, char** argv) {
  return gangway::worker::worker_program(
      {argv, argv + argc}, "cpu",
      [](const gangway::Job& job, const gangway::Execution&, const gangway::worker::Neighbours&,
         int) {
        if (job.numerics.device != gangway::DeviceKind::kCpu) {
          throw gangway::EnvironmentError(
              "this worker was started for the CPU, and the job is for cuda: "
              "start it with 'gangway run', or put the job file where every "
              "host can read it");
        }
        return std::make_unique<gangway::worker::CpuDevice>(job);
      });
}
