// SPDX-License-Identifier: MIT
// Which tensors of a pass are what a discriminator says of real and of generated examples: told by
// the losses by which it learns. Pure but for the tensor that it is to hold.
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
  std::string network;  ///< that judges: "discriminator"
  Origin origin = Origin::kReal;
  std::string tensor;  ///< of the pass
  /// Above it an example is taken for a real one; nothing: only differences mean something.
  std::optional<double> boundary;
  int microbatch = 0;
  at::Tensor logits = {};  ///< without a graph; [N, 1] or [N, 1, h, w]
};

/// What `loss` looks at, if it is one by which a network learns to judge and that network's own;
/// none of a loss by which a generator learns. Micro-batch and tensors are still to be filled in.
[[nodiscard]] std::vector<JudgedLogits> judged_by(const pipeline::Pass& pass,
                                                  const pipeline::Loss& loss, const Job& job);

}  // namespace gangway::worker
