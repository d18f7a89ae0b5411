// SPDX-License-Identifier: MIT
// Finds a discriminator's logits of real and generated examples in a pass, from the losses that
// train it. Pure, except that JudgedLogits holds a tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"

namespace gangway::worker {

struct JudgedLogits {
  enum class Origin { kReal, kFake };
  std::string network;  ///< name of the judging network: "discriminator"
  Origin origin = Origin::kReal;
  std::string tensor;  ///< of the pass
  /// Logits above it mean "real"; nothing: only differences of logits have a meaning.
  std::optional<double> boundary;
  int microbatch = 0;
  at::Tensor logits = {};  ///< without a graph; [N, 1] or [N, 1, h, w]
};

/// Returns the logits that `loss` takes if it trains the network that made them; empty for a
/// generator's loss. The caller fills in micro-batch and tensors.
[[nodiscard]] std::vector<JudgedLogits> judged_by(const pipeline::Pass& pass,
                                                  const pipeline::Loss& loss, const Job& job);

}  // namespace gangway::worker
