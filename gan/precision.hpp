// SPDX-License-Identifier: MIT
// Computes networks in lower precision than that of their weights (docs/training.md). LibTorch's
// autocast chooses the operators. gan/network.hpp turns it on; blocks turn it off where they need
// float32. Compute thread.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "gan/torch.hpp"
#include "job/precision.hpp"

namespace gangway::gan {

/// Turns on TF32 for float32 products on GPUs while it lives, if `precision` is kTf32. The setting
/// belongs to the process, so only one compute thread may use it. It holds in backward too.
class Tf32Products {
 public:
  explicit Tf32Products(Precision precision);
  Tf32Products(const Tf32Products&) = delete;
  Tf32Products& operator=(const Tf32Products&) = delete;
  ~Tf32Products();

 private:
  bool is_on_;
};

/// Sets autocast on this thread to `precision` while it lives, for devices of that type. Backward
/// does not need it: its types follow from forward (and from Tf32Products). Autocast's cache of
/// cast weights is off: no cast outlives an update, and gradients of a weight used twice add up in
/// float32.
class ComputePrecision {
 public:
  ComputePrecision(Precision precision, at::DeviceType device);
  ComputePrecision(const ComputePrecision&) = delete;
  ComputePrecision& operator=(const ComputePrecision&) = delete;
  ~ComputePrecision();

 private:
  Tf32Products products_;
  at::DeviceType device_;
  bool is_on_;
  bool was_on_ = false;
  bool cached_ = true;
  at::ScalarType type_before_ = at::kFloat;
};

/// Turns autocast off while it lives: float32 stays float32 (use with widened()).
class FullPrecision {
 private:
  c10::impl::ExcludeDispatchKeyGuard without_autocast_{c10::autocast_dispatch_keyset};
};

/// Returns `x` as float32 if it has two bytes an element, else unchanged.
[[nodiscard]] inline at::Tensor widened(const at::Tensor& x) {
  return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x;
}

/// Casts `x` to the type of `like`.
[[nodiscard]] inline at::Tensor in_type_of(const at::Tensor& like, const at::Tensor& x) {
  return x.to(like.scalar_type());
}

/// Clamps `x` at 256 in fp16 because larger values may overflow (conv_clamp in StyleGAN2-ADA's
/// code). Returns other types unchanged.
[[nodiscard]] inline at::Tensor clamped_if_half(const at::Tensor& x) {
  constexpr double kLargest = 256.0;
  return x.scalar_type() == at::kHalf ? x.clamp(-kLargest, kLargest) : x;
}

}  // namespace gangway::gan
