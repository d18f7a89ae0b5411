// SPDX-License-Identifier: MIT
// Builds a TorchScript module that computes the same as Network::forward. It is in evaluation mode
// until the user calls train(), which affects only dropout. Parameter names are those of the plain
// export ("0.norm.weight"). Called by `gangway checkpoints export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Returns a module at the network's current growth, with a row-major copy of the weights.
/// Generator: forward(noise) or forward(noise, labels). Picture translator: forward(image).
/// Discriminator: forward(image) or forward(image, labels).
/// @throws ConfigError naming a block without TorchScript
[[nodiscard]] torch::jit::Module script_of(gan::Network& network, const ModelSpec& model);

/// Writes a module to a new file, for torch.jit.load. @param notes  stored in the file, by name
/// @throws EnvironmentError if the file exists or cannot be written
void save_script(const torch::jit::Module& module, const std::filesystem::path& file,
                 const std::map<std::string, std::string>& notes);

}  // namespace gangway::launch
