// SPDX-License-Identifier: MIT
#include "gan/cuda/launch.hpp"
#include "gan/cuda/map_kernels.hpp"

namespace gangway::cuda {
namespace {

template <typename Value>
__global__ void activation_kernel(Activation activation, const Value* x, const float* bias,
                                  Value* out) {
  for (std::int64_t i = first_index(); i < activation.elements; i += index_stride()) {
    activate_element(activation, x, bias, i, out);
  }
}

template <typename Value>
__global__ void activation_gradient_kernel(Activation activation, const Value* gradient,
                                           const Value* y, Value* out) {
  for (std::int64_t i = first_index(); i < activation.elements; i += index_stride()) {
    activate_gradient_element(activation, gradient, y, i, out);
  }
}

template <typename Value>
__global__ void resampled_kernel(Resampled to, const Value* x, Value* out) {
  for (std::int64_t i = first_index(); i < to.elements(); i += index_stride()) {
    resample_element(to, x, i, out);
  }
}

/// Calls `launch` with a value of the C++ type of `type`.
template <typename Launch>
void with_type(MapType type, const Launch& launch) {
  if (type == MapType::kBfloat16) {
    launch(Bfloat16{});
  } else {
    launch(float{});
  }
}

}  // namespace

void launch_activation(const Activation& activation, MapType type, const void* x, const float* bias,
                       void* out, cudaStream_t stream) {
  if (activation.elements == 0) {
    return;
  }
  with_type(type, [&](auto value) {
    using Value = decltype(value);
    activation_kernel<<<blocks_for(activation.elements), kThreads, 0, stream>>>(
        activation, static_cast<const Value*>(x), bias, static_cast<Value*>(out));
  });
  check_launch("activating maps on the GPU");
}

void launch_activation_gradient(const Activation& activation, MapType type, const void* gradient,
                                const void* y, void* out, cudaStream_t stream) {
  if (activation.elements == 0) {
    return;
  }
  with_type(type, [&](auto value) {
    using Value = decltype(value);
    activation_gradient_kernel<<<blocks_for(activation.elements), kThreads, 0, stream>>>(
        activation, static_cast<const Value*>(gradient), static_cast<const Value*>(y),
        static_cast<Value*>(out));
  });
  check_launch("the gradient of activated maps on the GPU");
}

void launch_resampled(const Resampled& to, MapType type, const void* x, void* out,
                      cudaStream_t stream) {
  if (to.elements() == 0) {
    return;
  }
  with_type(type, [&](auto value) {
    using Value = decltype(value);
    resampled_kernel<<<blocks_for(to.elements()), kThreads, 0, stream>>>(
        to, static_cast<const Value*>(x), static_cast<Value*>(out));
  });
  check_launch("resampling maps on the GPU");
}

}  // namespace gangway::cuda
