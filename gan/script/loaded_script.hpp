// SPDX-License-Identifier: MIT
// A user's network in TorchScript, loaded: its tensors by name, and its forward, which computes the
// same whoever calls it. Compute thread only.
//
// What would make two calls differ is taken from it: the graph executor's optimisation (its first
// call has other bits than its later ones), LibTorch's random stream (seeded before each call), and
// what the module changes in itself (the caller sets it before each call and takes it afterwards).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "job/blocks/script_spec.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// What is wrong with a file that LibTorch has refused with `message`, and the remedy.
[[nodiscard]] std::string why_not_loaded(const std::string& message);

class LoadedScript {
 public:
  /// A tensor of the module, and the slot that it is read from. Others of its name may be tied to
  /// it: they have the same tensor.
  struct Held {
    std::string name;  ///< "main.0.weight"
    at::Tensor value;
    std::vector<std::pair<c10::intrusive_ptr<c10::ivalue::Object>, std::size_t>> slots;
  };

  /// Reads the file (job/modules/module_files.hpp).
  /// @throws ConfigError of one line that names key and file: not TorchScript; no forward, or one
  /// that takes another number of tensors; no parameters, or not float32
  explicit LoadedScript(ScriptSpec spec);

  /// Calls it on `inputs`, as the spec has them, in training as often as it takes to find what it
  /// changes in itself, and in evaluation. Its tensors are afterwards what they were.
  /// @throws ConfigError: it fails, makes something else than the spec says, writes to what it
  /// takes or to a parameter, or makes other numbers when nothing has changed
  void try_out(const std::vector<at::Tensor>& inputs);
  /// @throws ConfigError naming an operator that would give other bits from call to call
  void require_deterministic(DeviceKind device) const;

  /// Trained: float32, requires grad, in the module's order. The module computes with these very
  /// tensors.
  [[nodiscard]] std::vector<Held>& parameters() { return parameters_; }
  /// Found by try_out: what forward writes to in training, such as BatchNorm's running mean.
  [[nodiscard]] std::vector<Held>& moving() { return moving_; }

  void set_training(bool is_training);
  /// The module computes with `value` from now on.
  static void put(const Held& held, const at::Tensor& value);
  /// What the module has there.
  [[nodiscard]] static at::Tensor taken(const Held& held);

  /// @param inputs  as the spec has them, on one device
  /// @param seed    of all that it draws
  /// @throws ConfigError where it fails, or changes what it did not in try_out
  /// @return  one tensor, or as many as the spec has levels
  [[nodiscard]] std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs,
                                                std::uint64_t seed);

  [[nodiscard]] const ScriptSpec& spec() const { return spec_; }
  [[nodiscard]] torch::jit::Module& module() { return module_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  void find_tensors(const std::string& prefix, const torch::jit::Module& module);
  void add(const std::string& name, const c10::intrusive_ptr<c10::ivalue::Object>& owner,
           std::size_t slot);
  [[nodiscard]] c10::IValue call(const std::vector<at::Tensor>& inputs, std::uint64_t seed);
  /// @throws ConfigError unless it makes what the spec says
  [[nodiscard]] std::vector<at::Tensor> call_and_check(const std::vector<at::Tensor>& inputs,
                                                       std::uint64_t seed);
  /// Parts still_ from moving_, in training. @return what the first call has made
  [[nodiscard]] std::vector<at::Tensor> find_moving(const std::vector<at::Tensor>& inputs);
  /// With the tensors and the random numbers that the first call had.
  [[nodiscard]] std::vector<at::Tensor> call_as_first(const std::vector<at::Tensor>& inputs);
  /// @throws ConfigError unless `now`, which forward has put there, can be carried on
  void require_carried(const Held& held, const at::Tensor& now) const;
  /// @throws ConfigError unless two calls of the same have made the same
  void require_equal(const std::vector<at::Tensor>& first,
                     const std::vector<at::Tensor>& second) const;
  void require_still() const;

  ScriptSpec spec_;
  torch::jit::Module module_;
  std::vector<Held> parameters_;
  std::vector<Held> moving_;
  std::vector<Held> still_;             ///< all else: constants
  std::vector<std::int64_t> versions_;  ///< of the values of `still_`
  bool is_training_ = true;
};

}  // namespace gangway::gan
