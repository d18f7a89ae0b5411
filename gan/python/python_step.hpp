// SPDX-License-Identifier: MIT
// A training step that is the user's Python (training.step, docs/own-step.md): an object with a
// method for each phase, which computes the loss of one micro-batch with the job's networks.
// Compute thread only.
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

namespace gangway::gan {

class PythonStep {
 public:
  struct Call {
    std::string method;
    NamedTensors batch;  ///< on one device
    RandomKey key;       ///< of all that it draws
    /// Receives the networks' buffers after the call; null: they are dropped.
    const PerNetwork<StatisticSink*>& sinks;
    std::vector<NetworkId> trained;
  };
  struct Made {
    at::Tensor loss;                            ///< [], with its graph
    std::map<std::string, at::Tensor> figures;  ///< [] each
  };
  /// What show() makes.
  struct Shown {
    at::Tensor pictures;  ///< [N, C, H, W], float32 in [-1, 1], C 1 or 3, on a CPU
    std::string wav;      ///< bytes of a file, of sounds, whose pictures those are; empty: none
  };
  /// By name, in the order of the step; at least one.
  using Figures = std::vector<std::pair<std::string, double>>;
  virtual ~PythonStep() = default;

  /// Names the step of the calls that follow. What earlier phases have kept is forgotten.
  virtual void begin_step(std::int64_t step) = 0;
  /// @throws ConfigError of one line, with file and line, of what the method raises; of a loss that
  /// is no scalar, or that depends on no network
  [[nodiscard]] virtual Made call(const Call& call) = 0;
  /// What the step's show() makes of examples by the networks as they are bound now, in evaluation.
  /// Leaves nothing behind. @pre the job's OwnStepFacts::shows
  /// @param batch  as gan::step_batch. @throws ConfigError as call(), and where these are no
  /// pictures or sounds
  [[nodiscard]] virtual Shown show(const NamedTensors& batch) = 0;
  /// What score() says of them, likewise. @pre the job's OwnStepFacts::scores
  /// @param number  of the batch, which seeds what it draws
  [[nodiscard]] virtual Figures score(const NamedTensors& batch, std::int64_t number) = 0;
};

/// The job's, whose networks are Python, too. @pre open_python
[[nodiscard]] std::unique_ptr<PythonStep> make_python_step(const Job& job,
                                                           const PerNetwork<Network*>& networks);

}  // namespace gangway::gan
