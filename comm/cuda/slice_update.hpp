// SPDX-License-Identifier: MIT
// Describes the fused update of one slice, with a plain host reference. Pointers are device memory
// for the kernels (comm/cuda/slice_kernels.hpp) and host memory for the reference. Included by .cpp
// and .cu files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/cuda/sum_program.hpp"
#include "comm/cuda/update_arithmetic.hpp"
#include "comm/reduce/update_plan.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// The element type on the wire. All but kFloat32 are declared inexact.
enum class WireType : std::uint8_t { kFloat32, kBfloat16, kFloat16 };

[[nodiscard]] inline std::size_t bytes_of(WireType type) {
  return type == WireType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// The summands of one slice in the order of their program. Slices start at whole blocks, so every
/// pointer is aligned to at least 16 bytes.
struct SliceSummands {
  // NOLINTBEGIN(modernize-avoid-c-arrays): kernels cannot call std::array's operators
  const void* values[kMaxSummands] = {};
  WireType types[kMaxSummands] = {};
  // NOLINTEND(modernize-avoid-c-arrays)
};

/// One slice's update: tree sum, scale, clip, optimiser on parameters, running average on
/// statistics, then the weight average on both.
struct SliceUpdate {
  SumProgram program;
  SliceSummands summands;
  std::int64_t elements = 0;            ///< a multiple of 4
  std::int64_t parameter_elements = 0;  ///< parameters, at the front; a multiple of 4
  float scale = 1.0F;                   ///< applied to every sum: 1 / M
  const float* clip_scale = nullptr;    ///< then applied to parameters' means; null: no clipping
  const int* is_skipped = nullptr;      ///< not 0: the update changes nothing; null: never skipped
  const UpdateConstants* constants = nullptr;
  OptimizerKind optimizer = OptimizerKind::kAdam;  ///< the rule stored in `constants`
  float* weights = nullptr;          ///< at the slice's first element, as are the pointers below
  float* moments[kMaxMoments] = {};  // NOLINT(modernize-avoid-c-arrays): for device code
  float* average = nullptr;          ///< null: the network has no weight average
};

/// Tree sum and scale without update, for a decision that needs all gradients first.
struct SliceSum {
  SumProgram program;
  SliceSummands summands;
  std::int64_t elements = 0;  ///< a multiple of 4
  float scale = 1.0F;
  float* out = nullptr;
};

/// The decision to clip or skip a network's update, from the sums of squares of all its blocks.
struct ClipDecision {
  const double* squares = nullptr;  ///< one per block, in block order
  std::int64_t num_blocks = 0;
  double clip_norm = 0.0;                      ///< 0: no clipping
  const UpdateConstants* constants = nullptr;  ///< gives `unscale`; null: 1
  double* squared_norm = nullptr;              ///< out: pairwise sum of `squares`
  float* clip_scale = nullptr;  ///< out: unscale * min(1, clip_norm / (unscale * norm + 1e-6))
  int* is_skipped = nullptr;    ///< out: whether the norm is not finite; null: no skipping
};

/// Rounds gradients for the wire. If `residual` is not null, it is added before rounding and then
/// holds the rounding error (error feedback: Seide et al., 2014; Karimireddy et al., 2019).
struct WireEncoding {
  const float* values = nullptr;
  float* residual = nullptr;
  void* out = nullptr;
  WireType type = WireType::kBfloat16;
  std::int64_t elements = 0;  ///< a multiple of 4
};

/// Host reference of the update's kernel: equal results in every bit. Any thread.
void update_slice_on_host(const SliceUpdate& update);

/// @param statistics_momentum  momentum of the running averages
[[nodiscard]] UpdateConstants update_constants(const UpdatePlan& plan, double statistics_momentum);

}  // namespace gangway::comm
