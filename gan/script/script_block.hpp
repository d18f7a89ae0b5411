// SPDX-License-Identifier: MIT
// A user's network in TorchScript as one block: its parameters are trained where they lie, what its
// forward changes in itself are statistics, which every micro-batch finds as the step began and
// whose mean over them is carried on. Compute thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gan/block.hpp"
#include "gan/script/loaded_script.hpp"
#include "job/blocks/script_spec.hpp"

namespace gangway::gan {

class ScriptBlock final : public Block {
 public:
  /// Loads the file and tries it on two examples. @throws ConfigError as LoadedScript
  explicit ScriptBlock(const ScriptSpec& spec);
  /// In evaluation mode it draws as the key says too, so that equal calls make equal examples.
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] bool is_whole_network() const override { return true; }

  /// @throws ConfigError as LoadedScript
  void require_deterministic(DeviceKind device) const { script_.require_deterministic(device); }

  /// The module in evaluation mode, with this block's present values, row-major.
  [[nodiscard]] torch::jit::Module filled_module();

 private:
  /// What the module had under a statistic's name is not always float32: whole numbers are rounded
  /// back. Exact up to 2^20, where floats still tell a mean of equal ones from their neighbours.
  [[nodiscard]] at::Tensor as_held(std::size_t moving) const;

  LoadedScript script_;
  std::vector<Statistic*> statistics_of_moving_;
  std::vector<at::ScalarType> types_;  // of the moving
};

[[nodiscard]] std::unique_ptr<Block> make_block(const ScriptSpec& spec);

}  // namespace gangway::gan
