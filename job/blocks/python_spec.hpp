// SPDX-License-Identifier: MIT
// A class of the user's Python, as a value. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// An input of a user's network: float32 [N, shape…], or int64; "labels" is int64 [N].
struct PythonInput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< per example
  bool is_whole = false;            ///< int64 under any name
  [[nodiscard]] bool has_whole_numbers() const { return is_whole || name == "labels"; }
};

/// A class of a user's Python file. A network of it is one block; only Python (python/) knows its
/// computation and its tensors. A user's step and data have only the first fields.
struct PythonSpec {
  std::string key;  ///< of the job, for messages: "model.generator"
  std::string file;
  std::string module = {};     ///< of a package: "R3GAN.Networks"; empty: the file's own name
  std::string hash;            ///< of the files, class and arguments; empty: not checked
  std::string python_class;    ///< "Generator"
  std::string arguments = {};  ///< of its constructor, a map in JSON; empty: none
  std::uint64_t seed = 0;      ///< of the random numbers for its first values
  bool is_penalised = false;   ///< whether second derivatives are taken
  bool is_free = false;        ///< whether only the user's own step knows its output
  std::vector<PythonInput> inputs;
  std::vector<std::int64_t> output;  ///< per example, of the output: float32 "features"
  int levels = 0;  ///< above 0: so many maps instead, float32 [N, C, H, W] of any size
  std::optional<std::int64_t> num_parameters;  ///< known once the class is made

  /// Returns the file's path below the folder that its imports start from: "R3GAN/Networks.py".
  [[nodiscard]] std::string name_in_folder() const {
    std::string name = module;
    std::ranges::replace(name, '.', '/');
    return name.empty() ? std::filesystem::path(file).filename().string() : name + ".py";
  }
  /// Returns that folder, relative as `file` is; empty: the current one.
  [[nodiscard]] std::filesystem::path folder() const {
    return file.substr(0, file.size() - name_in_folder().size());
  }
  /// Returns the name that the file is imported by.
  [[nodiscard]] std::string import_name() const {
    return module.empty() ? std::filesystem::path(file).stem().string() : module;
  }
};
/// Returns no parameters, because Python makes them.
[[nodiscard]] BlockTensors tensors_of(const PythonSpec& spec);

}  // namespace gangway
