// SPDX-License-Identifier: MIT
// A network of the user's, as a value. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// What a user's network takes: float32 [N, shape…], or int64, as [N] under the name "labels".
struct ScriptInput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< per example
  bool is_whole = false;            ///< int64, whatever its name is
  [[nodiscard]] bool has_whole_numbers() const { return is_whole || name == "labels"; }
};

/// A whole network that a user has made: a TorchScript file, or a class of a Python file. What it
/// computes, and which tensors it has, only LibTorch (gan/script/) or Python (python/) can tell.
struct ScriptSpec {
  std::string key;  ///< of the job, for messages: "model.generator"
  std::string file;
  std::string hash;               ///< of its bytes; empty: whatever they are
  std::string python_class = {};  ///< "Generator", of the Python file; empty: it is TorchScript
  std::string arguments = {};     ///< of its constructor, a map in JSON; empty: none
  std::uint64_t seed = 0;         ///< of what a Python network draws for its first values
  bool is_penalised = false;      ///< whether second derivatives of a Python network are taken
  bool is_free = false;  ///< whether what it makes is for the user's own step alone to know
  std::vector<ScriptInput> inputs;
  std::vector<std::int64_t> output;  ///< shape of an example: float32 "features"
  int levels = 0;  ///< instead, where it is above 0: so many maps, float32 [N, C, H, W] of any size
  std::optional<std::int64_t> num_parameters;  ///< where somebody has looked
  [[nodiscard]] bool is_python() const { return !python_class.empty(); }
};
[[nodiscard]] BlockPorts ports_of(const ScriptSpec& spec);
/// None: they are in its file.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ScriptSpec& spec);

}  // namespace gangway
