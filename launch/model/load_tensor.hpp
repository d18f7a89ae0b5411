// SPDX-License-Identifier: MIT
// From a checked record of a file to a tensor of a network. Used for checkpoints and feature
// weights.
#pragma once

#include <string>

#include "checkpoint/format/safetensors.hpp"
#include "gan/torch.hpp"

namespace gangway::launch {

/// Copies `record` into `target`, whose shape and type it must have.
/// @param where what the record was read from, for the message  @throws CheckpointError when they
/// differ.
void load_tensor(const checkpoint::TensorRecord& record, at::Tensor& target,
                 const std::string& where);

}  // namespace gangway::launch
