// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {

void add_divergence_keys(std::vector<Key>& keys) {
  // No weight depends on the policy before a decision, and the run records its decisions. So a run
  // that stopped in trouble resumes under another policy as the same job.
  const auto add_policy = [&keys](Key key) { keys.push_back(for_speed(std::move(key))); };
  add_policy(choice_key("training.divergence.policy", &DivergenceSpec::policy,
                        "What the run does on trouble: stop, it ends (exit code 4); rollback, it "
                        "resumes from an earlier state with other settings"));
  add_policy(whole_key("training.divergence.retries", "", &DivergenceSpec::retries, {0, 1000},
                       "Most rollbacks of a run"));
  add_policy(real_key("training.divergence.lr_factor", "", &DivergenceSpec::lr_factor, kZeroToOne,
                      "Factor on all networks' learning rates, from a rollback's step on"));
  add_policy(choice_key("training.divergence.reseed", &DivergenceSpec::reseed,
                        "Whether noise and other random draws change from a rollback's step on; "
                        "the order of the data stays"));
  add_policy(whole_key("training.divergence.rewind", "steps", &DivergenceSpec::rewind,
                       {1, 1'000'000'000},
                       "A rollback goes to a multiple of this step count: the last but one before "
                       "the trouble, or the beginning"));
  add_policy(real_key("training.divergence.loss_factor", "", &DivergenceSpec::loss_factor,
                      kZeroOrMore,
                      "A step's loss is trouble above this many times the median of the last steps "
                      "since the start; 0: only a non-finite loss is trouble"));
  add_policy(whole_key("training.divergence.saturated_ticks", "ticks",
                       &DivergenceSpec::saturated_ticks, {0, 1'000'000},
                       "A discriminator whose loss is below 1e-4 of its first loss for this many "
                       "ticks in a row is reported as saturated; 0: never"));
  add_policy(choice_key("training.divergence.act_on_saturation",
                        &DivergenceSpec::saturation_is_trouble,
                        "Whether saturation is trouble, too"));
  add_policy(for_adversaries(real_key(
      "training.divergence.loss_bound", "", &DivergenceSpec::loss_bound, kZeroOrMore,
      "An adversarial loss above this for 25 steps in a row is trouble; not checked for a loss "
      "without a scale (wasserstein) or with terms that compare examples; 0: no bound")));
  add_policy(real_key("training.divergence.gradient_norm", "", &DivergenceSpec::gradient_norm,
                      kZeroOrMore,
                      "A network's gradient norm above this, before clipping, is trouble; updates "
                      "then wait for the norm, as with clip_norm; 0: no bound"));
  add_policy(for_adversaries(real_key(
      "training.divergence.diversity", "", &DivergenceSpec::diversity,
      {.high = 1.0, .is_high_allowed = false},
      "Generated examples are too alike if they differ from their neighbours by less than this "
      "share of what real examples do (mean squares, by micro-batch); 0: not checked")));
  add_policy(for_adversaries(
      whole_key("training.divergence.diversity_steps", "steps", &DivergenceSpec::diversity_steps,
                {1, 1'000'000'000}, "Consecutive steps with too similar examples until trouble")));
  keys.push_back(later(whole_key(
      "training.plateau.patience", "scores", &PlateauSpec::patience, {0, 1'000'000},
      "Consecutive scores without a better one after which learning rates are lowered; 0: never")));
  keys.push_back(later(real_key("training.plateau.factor", "", &PlateauSpec::factor, kZeroToOne,
                                "Factor on all networks' learning rates then")));
}

}  // namespace gangway
