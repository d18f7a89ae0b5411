// SPDX-License-Identifier: MIT
// Lets other engines compute a run's network: takes what they made (`gangway-model inputs` writes
// what they get). Called by `evaluate`. Main thread.
#pragma once

#include <filesystem>

#include "gan/torch.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::launch {

/// Returns tensor "output" of a safetensors file: examples [N, …] of the model, images clamped to
/// [-1, 1]. @throws ConfigError for another shape or values that are not finite; CheckpointError
/// for a file that is none
[[nodiscard]] at::Tensor read_made(const std::filesystem::path& file, const ModelSpec& model);

}  // namespace gangway::launch
