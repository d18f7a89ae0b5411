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
                        "What follows of trouble: the run ends (exit code 4), or goes on from an "
                        "earlier state with other settings"},
                       [](auto& job) -> auto& { return job.training.divergence.policy; }));
  add_policy(keys, whole_key({"training.divergence.retries", "", "Rollbacks of a run, at most"},
                             [](auto& job) -> auto& { return job.training.divergence.retries; },
                             {0, 1000}));
  add_policy(keys,
             real_key(
                 {"training.divergence.lr_factor", "",
                  "On all networks' learning rates, from a rollback's step on"},
                 [](auto& job) -> auto& { return job.training.divergence.lr_factor; }, kZeroToOne));
  add_policy(keys, choice_key(
                       {"training.divergence.reseed", "",
                        "Whether noise and other draws are new ones from a rollback's step on; the "
                        "order of the data stays"},
                       [](auto& job) -> auto& { return job.training.divergence.reseed; }));
  add_policy(keys, whole_key({"training.divergence.rewind", "steps",
                              "A rollback goes to a multiple of it: the last but one before the "
                              "trouble, or the beginning"},
                             [](auto& job) -> auto& { return job.training.divergence.rewind; },
                             {1, 1'000'000'000}));
  add_policy(keys, real_key(
                       {"training.divergence.loss_factor", "",
                        "A step's loss is trouble where it is so many times as large as the median "
                        "of the last steps' of this start; 0: only one that is not finite"},
                       [](auto& job) -> auto& { return job.training.divergence.loss_factor; },
                       kZeroOrMore));
  add_policy(
      keys, whole_key({"training.divergence.saturated_ticks", "ticks",
                       "A discriminator whose loss is below 1e-4 of its first for so many ticks in "
                       "a row has nothing to learn: this is told; 0: never"},
                      [](auto& job) -> auto& { return job.training.divergence.saturated_ticks; },
                      {0, 1'000'000}));
  add_policy(keys,
             choice_key(
                 {"training.divergence.act_on_saturation", "", "Whether that is trouble, too"},
                 [](auto& job) -> auto& { return job.training.divergence.saturation_is_trouble; }));
}

void add_bounds(std::vector<Key>& keys) {
  Key loss = real_key(
      {"training.divergence.loss_bound", "",
       "An adversary's loss that is larger for 25 steps in a row is trouble; not looked at where "
       "it has no scale (wasserstein) or examples are compared, too; 0: no bound"},
      [](auto& job) -> auto& { return job.training.divergence.loss_bound; }, kZeroOrMore);
  add_policy(keys, for_adversaries(std::move(loss)));
  add_policy(keys, real_key(
                       {"training.divergence.gradient_norm", "",
                        "A network's gradient whose norm, before clipping, is above it is trouble; "
                        "updates then wait for the norm, as with clip_norm; 0: no bound"},
                       [](auto& job) -> auto& { return job.training.divergence.gradient_norm; },
                       kZeroOrMore));
  Key diversity = real_key(
      {"training.divergence.diversity", "",
       "Generated examples that differ less from their neighbours than so many times what real "
       "ones do are too much alike (mean squares, by micro-batch); 0: nobody looks"},
      [](auto& job) -> auto& { return job.training.divergence.diversity; },
      {.high = 1.0, .is_high_allowed = false});
  add_policy(keys, for_adversaries(std::move(diversity)));
  Key steps = whole_key({"training.divergence.diversity_steps", "steps",
                         "In a row for which they are, until that is trouble"},
                        [](auto& job) -> auto& { return job.training.divergence.diversity_steps; },
                        {1, 1'000'000'000});
  add_policy(keys, for_adversaries(std::move(steps)));
}

}  // namespace

void add_divergence_keys(std::vector<Key>& keys) {
  add_divergence(keys);
  add_bounds(keys);
  keys.push_back(later(
      whole_key({"training.plateau.patience", "scores",
                 "In a row without a better one, after which learning rates are lowered; 0: never"},
                [](auto& job) -> auto& { return job.training.plateau.patience; }, {0, 1'000'000})));
  keys.push_back(later(real_key(
      {"training.plateau.factor", "", "On all networks' learning rates then"},
      [](auto& job) -> auto& { return job.training.plateau.factor; }, kZeroToOne)));
}

}  // namespace gangway
