// SPDX-License-Identifier: MIT
#include "job/keys/divergence_keys.hpp"

#include <string>
#include <utility>

#include "job/keys/key_uses.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

/// No weight depends on the policy before a decision, and the run records its decisions. So a run
/// that stopped in trouble resumes under another policy as the same job.
void add_policy(std::vector<Key>& keys, Key key) { keys.push_back(for_speed(std::move(key))); }

void add_divergence(std::vector<Key>& keys) {
  add_policy(keys, choice_key(
                       {"training.divergence.policy", "",
                        "What the run does on trouble: stop, it ends (exit code 4); rollback, it "
                        "resumes from an earlier state with other settings"},
                       [](auto& job) -> auto& { return job.training.divergence.policy; }));
  add_policy(keys, whole_key({"training.divergence.retries", "", "Most rollbacks of a run"},
                             [](auto& job) -> auto& { return job.training.divergence.retries; },
                             {0, 1000}));
  add_policy(keys,
             real_key(
                 {"training.divergence.lr_factor", "",
                  "Factor on all networks' learning rates, from a rollback's step on"},
                 [](auto& job) -> auto& { return job.training.divergence.lr_factor; }, kZeroToOne));
  add_policy(keys, choice_key(
                       {"training.divergence.reseed", "",
                        "Whether noise and other random draws change from a rollback's step on; "
                        "the order of the data stays"},
                       [](auto& job) -> auto& { return job.training.divergence.reseed; }));
  add_policy(keys, whole_key({"training.divergence.rewind", "steps",
                              "A rollback goes to a multiple of this step count: the last but one "
                              "before the trouble, or the beginning"},
                             [](auto& job) -> auto& { return job.training.divergence.rewind; },
                             {1, 1'000'000'000}));
  add_policy(keys, real_key(
                       {"training.divergence.loss_factor", "",
                        "A step's loss is trouble above this many times the median of the last "
                        "steps since the start; 0: only a non-finite loss is trouble"},
                       [](auto& job) -> auto& { return job.training.divergence.loss_factor; },
                       kZeroOrMore));
  add_policy(keys,
             whole_key({"training.divergence.saturated_ticks", "ticks",
                        "A discriminator whose loss is below 1e-4 of its first loss for this many "
                        "ticks in a row is reported as saturated; 0: never"},
                       [](auto& job) -> auto& { return job.training.divergence.saturated_ticks; },
                       {0, 1'000'000}));
  add_policy(
      keys, choice_key(
                {"training.divergence.act_on_saturation", "", "Whether saturation is trouble, too"},
                [](auto& job) -> auto& { return job.training.divergence.saturation_is_trouble; }));
}

void add_bounds(std::vector<Key>& keys) {
  Key loss = real_key(
      {"training.divergence.loss_bound", "",
       "An adversarial loss above this for 25 steps in a row is trouble; not checked for a loss "
       "without a scale (wasserstein) or with terms that compare examples; 0: no bound"},
      [](auto& job) -> auto& { return job.training.divergence.loss_bound; }, kZeroOrMore);
  add_policy(keys, for_adversaries(std::move(loss)));
  add_policy(keys, real_key(
                       {"training.divergence.gradient_norm", "",
                        "A network's gradient norm above this, before clipping, is trouble; "
                        "updates then wait for the norm, as with clip_norm; 0: no bound"},
                       [](auto& job) -> auto& { return job.training.divergence.gradient_norm; },
                       kZeroOrMore));
  Key diversity = real_key(
      {"training.divergence.diversity", "",
       "Generated examples are too alike if they differ from their neighbours by less than this "
       "share of what real examples do (mean squares, by micro-batch); 0: not checked"},
      [](auto& job) -> auto& { return job.training.divergence.diversity; },
      {.high = 1.0, .is_high_allowed = false});
  add_policy(keys, for_adversaries(std::move(diversity)));
  Key steps = whole_key({"training.divergence.diversity_steps", "steps",
                         "Consecutive steps with too similar examples until trouble"},
                        [](auto& job) -> auto& { return job.training.divergence.diversity_steps; },
                        {1, 1'000'000'000});
  add_policy(keys, for_adversaries(std::move(steps)));
}

}  // namespace

void add_divergence_keys(std::vector<Key>& keys) {
  add_divergence(keys);
  add_bounds(keys);
  keys.push_back(later(whole_key(
      {"training.plateau.patience", "scores",
       "Consecutive scores without a better one after which learning rates are lowered; 0: never"},
      [](auto& job) -> auto& { return job.training.plateau.patience; }, {0, 1'000'000})));
  keys.push_back(later(real_key(
      {"training.plateau.factor", "", "Factor on all networks' learning rates then"},
      [](auto& job) -> auto& { return job.training.plateau.factor; }, kZeroToOne)));
}

}  // namespace gangway
