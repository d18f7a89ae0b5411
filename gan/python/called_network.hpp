// SPDX-License-Identifier: MIT
// Helpers for calling a user's network: trial examples, the seed of a call, and buffers. Compute
// thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "gan/random.hpp"
#include "job/blocks/python_spec.hpp"

namespace gangway::gan {

/// Returns two examples because BatchNorm rejects one. @param draw  other numbers give other
/// examples
[[nodiscard]] std::vector<at::Tensor> tried_examples(const PythonSpec& spec, std::int32_t draw);

/// Returns the seed of all draws of a call. LibTorch's CPU generator uses 32 bits of it, so two
/// micro-batches in billions draw alike.
[[nodiscard]] std::uint64_t seed_of_call(RandomKey key);

/// Returns a copy of a statistic in its module's type; rounds for integers. Exact up to 2^20, where
/// float32 still separates a mean of equal integers from its neighbours.
[[nodiscard]] at::Tensor as_held_by_module(const at::Tensor& running, at::ScalarType type);

/// Returns whether a mean over micro-batches makes sense for that type.
[[nodiscard]] bool can_be_averaged(at::ScalarType type);

/// Returns whether both are the same view. Different views of shared memory cannot be trained
/// apart.
[[nodiscard]] bool is_same_view(const at::Tensor& one, const at::Tensor& other);

/// Converts a call's 16-bit results of autocast to float32 (numerics.precision).
[[nodiscard]] std::vector<at::Tensor> in_float32(std::vector<at::Tensor> made);

/// Returns e.g. "[2, 64] Float".
[[nodiscard]] std::string shape_text(const at::Tensor& tensor);
/// Returns e.g. "forward of [2, 100] Float and [2] Long".
[[nodiscard]] std::string call_text(const std::vector<at::Tensor>& inputs);

/// Returns whether a call made the tensors of the spec. @param is_one  no tuple or list
[[nodiscard]] bool is_as_wanted(const std::vector<at::Tensor>& made, bool is_one,
                                const PythonSpec& spec, std::int64_t count);

/// Maximum of trial training steps: four times the steps until the last discovery, at most these.
/// The count is fixed so that all workers find the same.
inline constexpr int kMostTried = 8;
/// Seed of the first trial step; each step has its own.
inline constexpr std::uint64_t kFirstSeed = 1;

}  // namespace gangway::gan
