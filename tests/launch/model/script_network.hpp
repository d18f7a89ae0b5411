// SPDX-License-Identifier: MIT
// Makes users' TorchScript networks without Python.
#pragma once

#include <filesystem>
#include <string>

#include <torch/csrc/jit/api/module.h>

namespace gangway::testing {

/// Writes a network without weights. @param forward  "def forward(self, images):\n    …"
inline std::filesystem::path write_network(const std::filesystem::path& file,
                                           const std::string& forward) {
  torch::jit::Module network{"__torch__.Network"};
  network.register_attribute("training", c10::BoolType::get(), false);
  network.define(forward);
  network.save(file.string());
  return file;
}

}  // namespace gangway::testing
