// SPDX-License-Identifier: MIT
#include "gan/precision.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include "base/errors.hpp"

namespace gangway::gan {
namespace {

void allow_tf32(bool is_allowed) {
  at::globalContext().setAllowTF32CuDNN(is_allowed);
  at::globalContext().setAllowTF32CuBLAS(is_allowed);
}

}  // namespace

Tf32Products::Tf32Products(Precision precision) : is_on_(precision == Precision::kTf32) {
  if (is_on_) {
    allow_tf32(true);
  }
}

Tf32Products::~Tf32Products() {
  if (is_on_) {
    allow_tf32(false);  // the process's default (worker/cuda/torch_cuda.hpp)
  }
}

ComputePrecision::ComputePrecision(Precision precision, at::DeviceType device)
    : products_(precision), device_(device), is_on_(is_half_size(precision)) {
  if (precision == Precision::kAuto) {
    throw InvariantError("numerics.precision is still auto where a network computes");
  }
  if (!is_on_) {
    return;
  }
  was_on_ = at::autocast::is_autocast_enabled(device_);
  cached_ = at::autocast::is_autocast_cache_enabled();
  type_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::set_autocast_enabled(device_, true);
}

ComputePrecision::~ComputePrecision() {
  if (is_on_) {
    at::autocast::set_autocast_enabled(device_, was_on_);
    at::autocast::set_autocast_dtype(device_, type_before_);
    at::autocast::set_autocast_cache_enabled(cached_);
  }
}

}  // namespace gangway::gan
