// SPDX-License-Identifier: MIT
// What calling a user's network takes: examples to try it on, the seed of a call, and what is in
// its buffers. Compute thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "gan/random.hpp"
#include "job/blocks/python_spec.hpp"

namespace gangway::gan {

/// Two examples: BatchNorm takes no single one. @param draw  others of each
[[nodiscard]] std::vector<at::Tensor> tried_examples(const PythonSpec& spec, std::int32_t draw);

/// Of all that a call of this key draws. LibTorch's generator on a CPU looks at 32 bits: two
/// micro-batches in billions draw alike.
[[nodiscard]] std::uint64_t seed_of_call(RandomKey key);

/// What a module has under a statistic's name is not always float32: whole numbers are rounded
/// back. Exact up to 2^20, where floats still tell a mean of equal ones from their neighbours. A
/// copy.
[[nodiscard]] at::Tensor as_held_by_module(const at::Tensor& running, at::ScalarType type);

/// Whether a mean over micro-batches says anything of such a tensor.
[[nodiscard]] bool can_be_averaged(at::ScalarType type);

/// Whether both are one tensor; else they may share memory, and cannot be trained apart.
[[nodiscard]] bool is_same_view(const at::Tensor& one, const at::Tensor& other);

/// What a call made, in float32 where autocast has left it in 16 bits (numerics.precision).
[[nodiscard]] std::vector<at::Tensor> in_float32(std::vector<at::Tensor> made);

/// "[2, 64] Float".
[[nodiscard]] std::string shape_text(const at::Tensor& tensor);
/// "forward of [2, 100] Float and [2] Long".
[[nodiscard]] std::string call_text(const std::vector<at::Tensor>& inputs);

/// Whether a call has made what the spec says. @param is_one  no tuple or list
[[nodiscard]] bool is_as_wanted(const std::vector<at::Tensor>& made, bool is_one,
                                const PythonSpec& spec, std::int64_t count);

/// Training steps on which a network is tried: four times as many as until the last discovery, and
/// no more than these. A fixed number, so that all workers find the same.
inline constexpr int kMostTried = 8;
/// Of the first of them; each has one of its own.
inline constexpr std::uint64_t kFirstSeed = 1;

}  // namespace gangway::gan
