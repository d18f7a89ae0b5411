// SPDX-License-Identifier: MIT
// A network as a TorchScript module that computes what Network::forward computes. It is in
// evaluation mode until the user calls train(); then only dropout differs. Its parameters have the
// names of the plain export ("0.norm.weight"). Used by `gangway checkpoints export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// forward(noise) or forward(noise, labels) of a generator, forward(image) of one that changes
/// pictures, forward(image) or forward(image, labels) of a discriminator, as far grown as it is.
/// Weights are copied, row-major.
/// @throws ConfigError naming a block that has no TorchScript.
[[nodiscard]] torch::jit::Module script_of(gan::Network& network, const ModelSpec& model);

/// Writes it to a new file, for torch.jit.load. @param notes  stored beside it, by name
/// @throws EnvironmentError where the file exists or cannot be written.
void save_script(const torch::jit::Module& module, const std::filesystem::path& file,
                 const std::map<std::string, std::string>& notes);

}  // namespace gangway::launch
