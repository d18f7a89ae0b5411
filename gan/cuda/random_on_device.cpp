// SPDX-License-Identifier: MIT
// The device's side of gan/random_tensors.hpp. Linked as an object into programs that compute on a
// GPU: nothing names it but a weak symbol.
#include <c10/cuda/CUDAStream.h>

#include "gan/cuda/random_kernels.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {

void draw_on_device(const RandomKey& key, Distribution distribution, const at::Tensor& out) {
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream(out.device().index()).stream();
  auto* const values = out.mutable_data_ptr<float>();
  if (distribution == Distribution::kNormal) {
    cuda::fill_normal(key, values, out.numel(), stream);
  } else {
    cuda::fill_uniform(key, values, out.numel(), stream);
  }
}

}  // namespace gangway::gan
