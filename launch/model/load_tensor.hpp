// SPDX-License-Identifier: MIT
// Copies a tensor of a checked file into a network. Called for checkpoints and feature weights.
#pragma once

#include <string>

#include "checkpoint/format/safetensors.hpp"
#include "gan/torch.hpp"

namespace gangway::launch {

/// Copies `record` into `target`. @throws CheckpointError if shape or type differ
/// @param where  source of the record, for the message
void load_tensor(const checkpoint::TensorRecord& record, at::Tensor& target,
                 const std::string& where);

}  // namespace gangway::launch
