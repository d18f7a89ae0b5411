// SPDX-License-Identifier: MIT
// What the fused update of one slice is to do, and a plain host reference of it. Pointers are
// device memory for the kernels (comm/cuda/slice_kernels.hpp) and host memory for the reference.
// Included by .cpp and .cu files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/cuda/sum_program.hpp"
#include "comm/cuda/update_arithmetic.hpp"
#include "comm/reduce/update_plan.hpp"
#include "job/optimizers.hpp"

namespace gangway::comm {

/// How a value is stored on the wire. Everything but kFloat32 is declared inexact.
enum class WireType : std::uint8_t { kFloat32, kBfloat16, kFloat16 };

[[nodiscard]] inline std::size_t bytes_of(WireType type) {
  return type == WireType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// The summands of one slice in the order of their program; slices start at whole blocks, so every
/// pointer is aligned to 16 bytes at least.
struct SliceSummands {
  // NOLINTBEGIN(modernize-avoid-c-arrays): kernels cannot call std::array's operators
  const void* values[kMaxSummands] = {};
  WireType types[kMaxSummands] = {};
  // NOLINTEND(modernize-avoid-c-arrays)
};

/// Tree sum, scale, clip, the optimiser on parameters, running average on statistics, then the
/// weight average on both.
struct SliceUpdate {
  SumProgram program;
  SliceSummands summands;
  std::int64_t elements = 0;            ///< a multiple of 4
  std::int64_t parameter_elements = 0;  ///< so many from the front are parameters; multiple of 4
  float scale = 1.0F;                   ///< applied to every sum: 1 / M
  const float* clip_scale = nullptr;    ///< applied to parameters' means after that; null: none
  const int* is_skipped = nullptr;      ///< not 0: all stays as it is; null: it never does
  const UpdateConstants* constants = nullptr;
  OptimizerKind optimizer = OptimizerKind::kAdam;  ///< whose rule `constants` have
  float* weights = nullptr;          ///< of the slice's first element, as are the others
  float* moments[kMaxMoments] = {};  // NOLINT(modernize-avoid-c-arrays): for device code
  float* average = nullptr;          ///< null: the network keeps none
};

/// Tree sum and scale alone, where a decision needs all gradients before any update.
struct SliceSum {
  SumProgram program;
  SliceSummands summands;
  std::int64_t elements = 0;  ///< a multiple of 4
  float scale = 1.0F;
  float* out = nullptr;
};

/// What becomes of a network's update, from the block sums of squares of all of it.
struct ClipDecision {
  const double* squares = nullptr;  ///< one a block, in block order
  std::int64_t num_blocks = 0;
  double clip_norm = 0.0;                      ///< 0: it is not clipped
  const UpdateConstants* constants = nullptr;  ///< with its `unscale`; null: of 1
  double* squared_norm = nullptr;              ///< out: pairwise sum of `squares`
  float* clip_scale = nullptr;  ///< out: unscale * min(1, clip_norm / (unscale * norm + 1e-6))
  int* is_skipped = nullptr;    ///< out: whether the norm is not finite; null: nobody skips
};

/// Rounds gradients for the wire. `residual`, where not null, is added before rounding and keeps
/// what rounding took away (error feedback: Seide et al., 2014; Karimireddy et al., 2019).
struct WireEncoding {
  const float* values = nullptr;
  float* residual = nullptr;
  void* out = nullptr;
  WireType type = WireType::kBfloat16;
  std::int64_t elements = 0;  ///< a multiple of 4
};

/// Host references of the kernels: same results in every bit. Any thread.
void update_slice_on_host(const SliceUpdate& update);
void mean_on_host(const SliceUpdate& update, float* out);
void sum_slice_on_host(const SliceSum& sum);
void decide_clip_on_host(const ClipDecision& decision);
void encode_on_host(const WireEncoding& encoding);

/// @param statistics_momentum  of the running averages
[[nodiscard]] UpdateConstants update_constants(const UpdatePlan& plan, double statistics_momentum);

}  // namespace gangway::comm
