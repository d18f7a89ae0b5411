// SPDX-License-Identifier: MIT
// How a network computes in fewer bits than it has weights (docs/training.md): LibTorch's autocast
// chooses operators, here is what turns it on, and off again where float32 is needed. Blocks ask
// for the latter; gan/network.hpp does the former. Compute thread.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "gan/torch.hpp"
#include "job/precision.hpp"

namespace gangway::gan {

/// Products of float32 on GPUs are of TF32 while this lives, where it is told kTf32. LibTorch has
/// that as a setting of the process: one compute thread. It counts in backward too.
class Tf32Products {
 public:
  explicit Tf32Products(Precision precision);
  Tf32Products(const Tf32Products&) = delete;
  Tf32Products& operator=(const Tf32Products&) = delete;
  ~Tf32Products();

 private:
  bool is_on_;
};

/// What is computed on this thread while it lives is computed in `precision`, on devices of the
/// type. Not for backward, which follows from the forward's types (and from Tf32Products). LibTorch
/// keeps no casts of weights from one operator to the next: each use has its own, so nothing
/// outlives an update, and gradients of a weight that is used twice are added in float32.
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

/// Operators take what they are given while this lives: float32 stays float32 (widened()).
class FullPrecision {
 private:
  c10::impl::ExcludeDispatchKeyGuard without_autocast_{c10::autocast_dispatch_keyset};
};

/// `x` in float32, if it has two bytes an element; else itself.
[[nodiscard]] inline at::Tensor widened(const at::Tensor& x) {
  return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x;
}

/// `x` in the type of `like`.
[[nodiscard]] inline at::Tensor in_type_of(const at::Tensor& like, const at::Tensor& x) {
  return x.to(like.scalar_type());
}

/// `x` without what might soon be infinite in fp16: StyleGAN2-ADA's authors clamp at 256 (their
/// code, conv_clamp). In any other type `x` itself.
[[nodiscard]] inline at::Tensor clamped_if_half(const at::Tensor& x) {
  constexpr double kLargest = 256.0;
  return x.scalar_type() == at::kHalf ? x.clamp(-kLargest, kLargest) : x;
}

}  // namespace gangway::gan
