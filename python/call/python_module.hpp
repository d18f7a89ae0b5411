// SPDX-License-Identifier: MIT
// Holds a user's Python network: its tensors by name, and its forward, which computes the same on
// each worker. Compute thread only; takes the interpreter's lock as needed, and never while it
// waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "gan/block.hpp"
#include "job/blocks/python_spec.hpp"
#include "python/call/support.hpp"

namespace gangway::python {

/// Returns two examples because BatchNorm rejects one. @param draw  other numbers give other
/// examples
[[nodiscard]] std::vector<at::Tensor> tried_examples(const PythonSpec& spec, std::int32_t draw);

/// Returns e.g. "[2, 64] float32".
[[nodiscard]] std::string shape_text(const at::Tensor& tensor);

class PythonModule {
 public:
  /// A tensor of the module, and the submodules' dictionaries that contain it: several if the
  /// parameter is tied.
  struct ModuleTensor {
    std::string name;  ///< "main.0.weight"
    at::Tensor value;
    std::vector<std::pair<Kept, Kept>> slots;  ///< dictionary and name
  };
  /// The tensors that a call returned, and the values it left in moving(), in moving()'s order.
  struct Called {
    std::vector<at::Tensor> made;
    std::vector<at::Tensor> moved;
  };

  /// Imports the file and makes the network under the spec's seed. Calls it once, because lazy
  /// modules take their shapes from the first input; then restores its buffers.
  /// @throws ConfigError in one line that begins with the key: the file raises an error (with file
  /// and line); makes no network, or a network that differs when it is made again; or others can
  /// write to the file
  explicit PythonModule(PythonSpec spec);
  PythonModule(const PythonModule&) = delete;
  PythonModule& operator=(const PythonModule&) = delete;
  ~PythonModule() = default;

  /// Returns the trained tensors: float32, requires grad, in the module's order. The module
  /// computes with these tensors.
  [[nodiscard]] const std::vector<ModuleTensor>& parameters() const { return parameters_; }
  /// Returns the tensors that forward writes to in training, such as BatchNorm's running mean.
  /// Before keep_moving: all tensors that are not trained.
  [[nodiscard]] const std::vector<ModuleTensor>& moving() const { return moving_; }
  /// Keeps the marked tensors in moving(); the rest are constants. @param moves  as moving()
  void keep_moving(const std::vector<bool>& moves);

  /// Calls forward. @param inputs  as the spec lists them, on one device
  /// @param moving  values of moving() during the call; the module may write to them
  /// @param seed    seeds LibTorch's generator, random and numpy.random
  /// @param derivatives  kFirst in training: Gangway's kernels may compute
  /// @throws ConfigError if forward raises, returns other outputs than the spec says, or changes a
  /// constant
  [[nodiscard]] Called call(gan::Mode mode, const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& moving, std::uint64_t seed,
                            gan::Derivatives derivatives = gan::Derivatives::kAll);

  /// Prepares the module for a call by the user's step: sets `mode`, `device` and the values of
  /// moving(). The caller holds the interpreter's lock.
  void be_ready(gan::Mode mode, at::Device device, const std::vector<at::Tensor>& moving);
  /// Returns what such a call left in moving(). @throws ConfigError if it changed a constant
  [[nodiscard]] std::vector<at::Tensor> moved() const;
  [[nodiscard]] const Kept& module() const { return module_; }

  /// Records the module's state beside its tensors.
  void note_kept();
  /// Returns the first name whose state differs from note_kept()'s; empty: none.
  [[nodiscard]] std::string first_changed() const;
  /// Returns the first parameter or buffer that the module replaced, added or removed; empty: none.
  [[nodiscard]] std::string first_replaced() const;

  [[nodiscard]] const PythonSpec& spec() const { return spec_; }
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] Kept construct() const;
  void find_tensors();
  void add(const std::string& name, const at::Tensor& value, std::pair<Kept, Kept> slot);
  void require_repeated() const;
  void call_first(const Kept& network) const;
  void bring_constants(at::Device device);
  void require_still() const;

  PythonSpec spec_;
  Kept place_;  ///< place_of(spec_), so that its files are read once
  Kept module_;
  Kept noted_;
  std::vector<ModuleTensor> parameters_;
  std::vector<ModuleTensor> moving_;
  std::vector<ModuleTensor> still_;     ///< constants: all other tensors
  std::vector<std::int64_t> versions_;  ///< versions of the tensors in still_
  bool is_training_ = true;
};

}  // namespace gangway::python
