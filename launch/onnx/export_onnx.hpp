// SPDX-License-Identifier: MIT
// Writes a network of a checkpoint as ONNX, for `gangway checkpoints export`. Main thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway::launch {

struct OnnxExport {
  std::filesystem::path checkpoint;  ///< its folder
  std::filesystem::path file;        ///< to write; must not exist
  std::string network;               ///< of the job
  bool last = false;                 ///< the last weights instead of their average
};

/// Writes the file, and prints one line.
/// @throws ConfigError if a block is the user's code; CheckpointError if values are missing or
/// damaged; EnvironmentError if the file exists or cannot be written
void export_onnx(const OnnxExport& options);

}  // namespace gangway::launch
