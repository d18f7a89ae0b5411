// SPDX-License-Identifier: MIT
// gangway-model: commands that compute with networks on CPUs.
#include <memory>

#include "launch/model/program/model_program.hpp"
#include "worker/step/compute_device.hpp"

int main(int argc, char** argv) {
  return gangway::launch::run_model_program(
      argc, argv,
      {{.device = gangway::DeviceKind::kCpu,
        .make = [](const gangway::Job& job, const gangway::Execution&,
                   const gangway::worker::Neighbours&,
                   int) { return std::make_unique<gangway::worker::CpuDevice>(job); },
        .typed = {argv + 1, argv + argc}}});
}
