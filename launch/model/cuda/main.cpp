// SPDX-License-Identifier: MIT
// gangway-model-cuda: the commands of gangway-model on a GPU. A separate program, because the other
// programs must not load CUDA.
#include <cstdlib>
#include <string>

#include "launch/model/program/model_program.hpp"
#include "worker/cuda/cuda_device.hpp"
#include "worker/cuda/torch_cuda.hpp"

int main(int argc, char** argv) {
  // As in a worker (launch/run/train.cpp): fixed order of sums, better cuDNN heuristics.
  (void)::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  (void)::setenv("TORCH_CUDNN_USE_HEURISTIC_MODE_B", "1", /*overwrite=*/0);
  return gangway::launch::run_model_program(
      argc, argv,
      {{.device = gangway::DeviceKind::kCuda,
        .make =
            [](const gangway::Job& job, const gangway::Execution& execution,
               const gangway::worker::Neighbours& neighbours, int worker) {
              return gangway::worker::make_cuda_device(job, execution, neighbours, worker,
                                                       [](const std::string&) {});
            },
        .typed = {argv + 1, argv + argc}},
       [] { gangway::worker::choose_kernels(gangway::KernelChoice::kDeterministic); }});
}
