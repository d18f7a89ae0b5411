// SPDX-License-Identifier: MIT
// A user's network in Python as one block: its parameters are trained where they lie, what its
// forward changes in itself are statistics, which every micro-batch finds as the step began and
// whose mean over them is carried on. Compute thread only.
#pragma once

#include <filesystem>
#include <vector>

#include "gan/block.hpp"
#include "job/blocks/python_spec.hpp"
#include "python/python_module.hpp"

namespace gangway::python {

class PythonBlock final : public gan::Block {
 public:
  /// Makes the network and tries it out. @throws ConfigError as PythonModule and try_out
  explicit PythonBlock(const PythonSpec& spec);
  [[nodiscard]] gan::NamedTensors forward(const gan::NamedTensors& in,
                                          const gan::ForwardContext& context) override;
  [[nodiscard]] bool is_whole_network() const override { return true; }

  /// As gan::save_python.
  void save(const std::filesystem::path& file);

  [[nodiscard]] PythonModule& module() { return module_; }
  /// Copies of its statistics, which the module may write to.
  [[nodiscard]] std::vector<at::Tensor> moving() const;
  /// Hands on what a call has left in them.
  void give(const std::vector<at::Tensor>& moved, gan::StatisticSink& sink) const;

 private:
  PythonModule module_;
  std::vector<gan::Statistic*> statistics_of_moving_;
  std::vector<at::ScalarType> types_;  // of the moving
};

}  // namespace gangway::python
