// SPDX-License-Identifier: MIT
// Settings for a job that diverges, collapses or stops improving: part of job/spec.hpp. A run's
// resulting decisions are in job/decisions.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace gangway {

/// Reaction to trouble in training.
enum class DivergencePolicy {
  kStop,      ///< the run ends, with exit code 4
  kRollback,  ///< it resumes from an earlier state with other settings, a bounded number of times
};

struct DivergenceSpec {
  DivergencePolicy policy = DivergencePolicy::kStop;
  int retries = 3;            ///< rollbacks of a run, at most
  double lr_factor = 0.5;     ///< factor on all networks' learning rates, from a rollback's step on
  bool reseed = true;         ///< whether random keys use another seed from then on
  std::int64_t rewind = 100;  ///< a rollback goes to a step that is a multiple of it
  /// Trouble if a step's mean loss over the running median of its size is larger; 0: not checked.
  double loss_factor = 0.0;
  /// Trouble if an adversary's loss stays larger than this, because it no longer learns; 0: not
  /// checked. From logits of about 40 on, a probability is certain to the last bit.
  double loss_bound = 1e4;
  /// Consecutive ticks after which a discriminator with nothing left to learn is reported; 0:
  /// never.
  std::int64_t saturated_ticks = 10;
  bool saturation_is_trouble = false;  ///< whether saturation is trouble, not only reported
  /// Trouble if the norm of a network's mean gradient, before clipping, is larger; 0: not checked.
  double gradient_norm = 0.0;
  /// A generator has collapsed if its examples spread less than this share of the real examples'
  /// spread, by micro-batch; 0: not checked.
  double diversity = 0.0;
  std::int64_t diversity_steps = 100;  ///< consecutive steps below `diversity` that are trouble
  bool operator==(const DivergenceSpec&) const = default;
};

enum class ExampleOrigin { kReal, kGenerated };

/// Returns the name under which workers report the spread of a micro-batch's examples to the
/// coordinator: "discriminator_fake_spread".
[[nodiscard]] inline std::string spread_figure(std::string judge, ExampleOrigin origin) {
  return std::move(judge.append(origin == ExampleOrigin::kReal ? "_real_spread" : "_fake_spread"));
}

/// Lowers learning rates when scores no longer improve.
struct PlateauSpec {
  int patience = 0;     ///< consecutive scores without a better one; 0: rates stay
  double factor = 0.5;  ///< factor on the learning rates of all networks
  bool operator==(const PlateauSpec&) const = default;
};

}  // namespace gangway
