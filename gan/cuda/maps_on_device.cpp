// SPDX-License-Identifier: MIT
// Implements gan/device_maps.hpp. Linked as an object because only weak symbols name it.
#include <c10/cuda/CUDAStream.h>

#include "gan/cuda/map_kernels.hpp"
#include "gan/device_maps.hpp"

namespace gangway::gan {
namespace {

cudaStream_t stream_of(const at::Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

cuda::MapType type_of(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? cuda::MapType::kBfloat16 : cuda::MapType::kFloat32;
}

}  // namespace

bool has_kernels_for(const at::Tensor& x) {
  return x.is_cuda() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

void activate_on_device(const cuda::Activation& activation, const at::Tensor& x,
                        const at::Tensor& bias, const at::Tensor& out) {
  cuda::launch_activation(activation, type_of(x), x.const_data_ptr(),
                          bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                          out.mutable_data_ptr(), stream_of(x));
}

void activate_gradient_on_device(const cuda::Activation& activation, const at::Tensor& gradient,
                                 const at::Tensor& y, const at::Tensor& out) {
  cuda::launch_activation_gradient(activation, type_of(y), gradient.const_data_ptr(),
                                   y.const_data_ptr(), out.mutable_data_ptr(), stream_of(y));
}

void resample_on_device(const cuda::Resampled& to, const at::Tensor& x, const at::Tensor& out) {
  cuda::launch_resampled(to, type_of(x), x.const_data_ptr(), out.mutable_data_ptr(), stream_of(x));
}

}  // namespace gangway::gan
