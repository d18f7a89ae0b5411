// SPDX-License-Identifier: MIT
// What a job does where it diverges, collapses or gets no better: part of job/spec.hpp. What has
// come of it in a run is a list of decisions (job/decisions.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace gangway {

/// What follows when training is in trouble.
enum class DivergencePolicy {
  kStop,      ///< the run ends, with exit code 4
  kRollback,  ///< it goes on from an earlier state with other settings, a bounded number of times
};

struct DivergenceSpec {
  DivergencePolicy policy = DivergencePolicy::kStop;
  int retries = 3;            ///< rollbacks of a run, at most
  double lr_factor = 0.5;     ///< on the learning rates of all networks, from a rollback's step on
  bool reseed = true;         ///< whether random keys come from another seed from then on
  std::int64_t rewind = 100;  ///< steps: a rollback goes to a multiple of it
  /// Mean loss of a step over the running median of its size that is trouble; 0: none is.
  double loss_factor = 0.0;
  /// Size of an adversary's loss above which nothing is learnt any more: trouble where it stays
  /// there; 0: none is. Logits of ten thousand are certainties to the last bit from about forty on.
  double loss_bound = 1e4;
  /// Ticks in a row after which a discriminator that has nothing left to learn is told of; 0:
  /// never.
  std::int64_t saturated_ticks = 10;
  bool saturation_is_trouble = false;  ///< it is not only told of
  /// Norm of a network's mean gradient, before it is clipped, above which there is trouble; 0:
  /// none.
  double gradient_norm = 0.0;
  /// Spread of a micro-batch's generated examples, as a share of that of its real ones, below which
  /// a generator has collapsed; 0: not checked.
  double diversity = 0.0;
  std::int64_t diversity_steps = 100;  ///< in a row below it that are trouble
  bool operator==(const DivergenceSpec&) const = default;
};

enum class ExampleOrigin { kReal, kGenerated };

/// Under which name workers tell how much the examples of a micro-batch differ that a discriminator
/// judges, and the coordinator looks for it: "discriminator_fake_spread".
[[nodiscard]] inline std::string spread_figure(std::string judge, ExampleOrigin origin) {
  return std::move(judge.append(origin == ExampleOrigin::kReal ? "_real_spread" : "_fake_spread"));
}

/// Lower learning rates where scores stay as they are.
struct PlateauSpec {
  int patience = 0;     ///< scores in a row without a better one; 0: rates stay
  double factor = 0.5;  ///< on the learning rates of all networks
  bool operator==(const PlateauSpec&) const = default;
};

}  // namespace gangway
