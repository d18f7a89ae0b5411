// SPDX-License-Identifier: MIT
// A TorchScript network of the user's, loaded: what `evaluate --features` may name. Any thread.
#pragma once

#include <filesystem>

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

namespace gangway::launch {

/// @throws ConfigError of one line: missing, no TorchScript, of a newer PyTorch, others can write
/// to it, or its forward has an operator that opens files by their names
[[nodiscard]] torch::jit::Module load_script(const std::filesystem::path& file, at::Device device);

}  // namespace gangway::launch
