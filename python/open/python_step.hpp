// SPDX-License-Identifier: MIT
// A training step of the user's Python (training.step, docs/own-step.md). Its object has a method
// for each phase, which computes the loss of one micro-batch with the job's networks. Compute
// thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "gan/block.hpp"
#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"

namespace gangway::python {

class PythonStep {
 public:
  struct Call {
    std::string method;
    gan::NamedTensors batch;  ///< on one device
    RandomKey key;            ///< of all draws of the call
    /// Receives the networks' buffers after the call; null: they are dropped.
    const PerNetwork<gan::StatisticSink*>& sinks;
    std::vector<NetworkId> trained;
  };
  struct Made {
    at::Tensor loss;                            ///< [], with its graph
    std::map<std::string, at::Tensor> figures;  ///< [] each
  };
  /// Result of show().
  struct Shown {
    at::Tensor pictures;  ///< [N, C, H, W], float32 in [-1, 1], C 1 or 3, on a CPU
    std::string wav;      ///< a WAV file of the sounds pictured; empty: none
  };
  /// Figures by name, in the order of the step; at least one.
  using Figures = std::vector<std::pair<std::string, double>>;
  virtual ~PythonStep() = default;

  /// Sets the step of the following calls and drops what earlier phases kept.
  virtual void begin_step(std::int64_t step) = 0;
  /// @throws ConfigError of one line, with file and line, for the method's exception, or a loss
  /// that is no scalar or depends on no network
  [[nodiscard]] virtual Made call(const Call& call) = 0;
  /// Calls the step's show() on examples, with the networks as bound now, in evaluation. Changes no
  /// state. @pre the job's OwnStepFacts::shows
  /// @param batch  as gan::step_batch. @throws ConfigError as call(), and if the results are no
  /// pictures or sounds
  [[nodiscard]] virtual Shown show(const gan::NamedTensors& batch) = 0;
  /// Calls the step's score() on examples, likewise. @pre the job's OwnStepFacts::scores
  /// @param number  of the batch; seeds its draws
  [[nodiscard]] virtual Figures score(const gan::NamedTensors& batch, std::int64_t number) = 0;
};

/// Makes the job's step. Its networks are Python too. @pre open_python
[[nodiscard]] std::unique_ptr<PythonStep> make_python_step(
    const Job& job, const PerNetwork<gan::Network*>& networks);

}  // namespace gangway::python
