// SPDX-License-Identifier: MIT
// A class of the user's Python, as a value. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// What a network of the user's takes: float32 [N, shape…], or int64, as [N] under the name
/// "labels".
struct PythonInput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< per example
  bool is_whole = false;            ///< int64, whatever its name is
  [[nodiscard]] bool has_whole_numbers() const { return is_whole || name == "labels"; }
};

/// A class of a user's Python file. A network of it is one block: what it computes, and which
/// tensors it has, only Python (python/) can tell. A step and data of the user's have no more than
/// the first fields.
struct PythonSpec {
  std::string key;  ///< of the job, for messages: "model.generator"
  std::string file;
  std::string hash;            ///< of the files, class and arguments; empty: whatever they are
  std::string python_class;    ///< "Generator"
  std::string arguments = {};  ///< of its constructor, a map in JSON; empty: none
  std::uint64_t seed = 0;      ///< of what it draws for its first values
  bool is_penalised = false;   ///< whether second derivatives are taken
  bool is_free = false;        ///< whether what it makes is for the user's own step alone to know
  std::vector<PythonInput> inputs;
  std::vector<std::int64_t> output;  ///< shape of an example: float32 "features"
  int levels = 0;  ///< instead, where it is above 0: so many maps, float32 [N, C, H, W] of any size
  std::optional<std::int64_t> num_parameters;  ///< once the class was made
};
[[nodiscard]] BlockPorts ports_of(const PythonSpec& spec);
/// None: they come into being with it.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const PythonSpec& spec);

}  // namespace gangway
