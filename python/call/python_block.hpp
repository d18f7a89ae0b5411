// SPDX-License-Identifier: MIT
// Makes a user's Python network one block. The module's own parameter tensors are trained. Tensors
// that forward changes are statistics. Every micro-batch starts from their values at the step's
// begin; the next step starts from the mean over micro-batches. Compute thread only.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "gan/block.hpp"
#include "job/blocks/python_spec.hpp"
#include "python/call/python_module.hpp"

namespace gangway::python {

class PythonBlock final : public gan::Block {
 public:
  /// @param module  after python/check/trial.hpp has found what forward writes to
  explicit PythonBlock(std::unique_ptr<PythonModule> module);
  [[nodiscard]] gan::NamedTensors forward(const gan::NamedTensors& in,
                                          const gan::ForwardContext& context) override;
  [[nodiscard]] bool is_whole_network() const override { return true; }

  /// Saves the network, as save_python.
  void save(const std::filesystem::path& file);

  [[nodiscard]] PythonModule& module() { return *module_; }
  /// Returns copies of its statistics, which the module may write to.
  [[nodiscard]] std::vector<at::Tensor> moving() const;
  /// Passes the values that a call has left in these copies to `sink`.
  void give(const std::vector<at::Tensor>& moved, gan::StatisticSink& sink) const;

 private:
  std::unique_ptr<PythonModule> module_;
  std::vector<gan::Statistic*> statistics_of_moving_;
  std::vector<at::ScalarType> types_;  // types of module_->moving()
};

}  // namespace gangway::python
