// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "job/rules/rule.hpp"
#include "job/schema/key.hpp"

namespace gangway {
namespace {

/// Keys that have an effect while `has_meaning` holds.
struct IdleKeys {
  std::vector<std::string_view> paths;
  std::string_view needs;  ///< condition, for people: "training.r1.gamma above 0"
  bool (*has_meaning)(const JobSpec&);
};

bool ends_somewhere(const JobSpec& job) {
  JobSpec whole = job;
  whole.training.burn_in_kimg = 0.0;
  return whole.ends_burn_in();
}

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<IdleKeys> idle_keys() {
  return {
      {{"training.r1.interval", "training.r1.final_factor", "training.r1.schedule"},
       "training.r1.gamma or training.r2.gamma above 0",
       [](const JobSpec& job) {
         return job.training.penalty.r1_gamma > 0.0 || job.training.penalty.r2_gamma > 0.0;
       }},
      {{"training.gradient_penalty_schedule"},
       "training.gradient_penalty above 0",
       [](const JobSpec& job) { return job.training.penalty.gradient_penalty > 0.0; }},
      {{"numerics.penalties"},
       "training.r1.gamma, training.r2.gamma, training.gradient_penalty or "
       "training.path_length.weight above 0",
       [](const JobSpec& job) {
         return job.training.penalty.is_any() || job.training.path_length.is_any();
       }},
      {{"training.lecam.decay"},
       "training.lecam.weight above 0",
       [](const JobSpec& job) { return job.training.lecam.is_any(); }},
      {{"training.path_length.interval"},
       "training.path_length.weight above 0",
       [](const JobSpec& job) { return job.training.path_length.is_any(); }},
      {{"training.generator_reals"},
       "training.loss relativistic, or a training.step",
       [](const JobSpec& job) {
         return job.training.loss == LossKind::kRelativistic || job.training.step.is_python();
       }},
      {{"training.fake_labels"},
       "model.classes above 0 and a training.loss that is not relativistic",
       [](const JobSpec& job) {
         return job.model.classes > 0 && job.training.loss != LossKind::kRelativistic;
       }},
      {{"training.augment.penalties"},
       "training.r1.gamma or training.r2.gamma above 0",
       [](const JobSpec& job) {
         return job.training.penalty.r1_gamma > 0.0 || job.training.penalty.r2_gamma > 0.0;
       }},
      {{"model.conditioning", "model.discriminator_mapping_layers"},
       "model.classes above 0",
       [](const JobSpec& job) { return job.model.classes > 0; }},
      {{"training.burn_in_kimg"},
       "a value that has a final value (generator.schedule.decay and the like, final_beta2, "
       "training.r1.final_factor)",
       ends_somewhere},
      {{"training.codes_weight"},
       "model.codes above 0",
       [](const JobSpec& job) { return job.model.codes > 0; }},
      {{"training.style.content_level"},
       "training.style.content_weight above 0",
       [](const JobSpec& job) { return job.training.style.content_weight > 0.0; }},
      {{"training.divergence.retries", "training.divergence.lr_factor",
        "training.divergence.reseed", "training.divergence.rewind"},
       "training.divergence.policy rollback",
       [](const JobSpec& job) {
         return job.training.divergence.policy == DivergencePolicy::kRollback;
       }},
      {{"training.divergence.act_on_saturation"},
       "training.divergence.saturated_ticks above 0",
       [](const JobSpec& job) { return job.training.divergence.saturated_ticks > 0; }},
      {{"training.divergence.diversity_steps"},
       "training.divergence.diversity above 0",
       [](const JobSpec& job) { return job.training.divergence.diversity > 0.0; }},
      {{"training.plateau.factor"},
       "training.plateau.patience above 0",
       [](const JobSpec& job) { return job.training.plateau.patience > 0; }},
      {{"layout.in_flight"},
       "layout.schedule fill, 1f1b or zero-bubble",
       [](const JobSpec& job) { return job.layout.schedule != StageOrder::kByPhase; }},
      {{"evaluation.metrics", "evaluation.decides", "evaluation.features"},
       "pictures made of noise, and for stacked pictures evaluation.features",
       [](const JobSpec& job) { return job.compares_pictures(); }},
      {{"evaluation.where"},
       "checkpoint.keep_best or evaluation.every_kimg above 0",
       [](const JobSpec& job) { return job.is_scored(); }},
      {{"evaluation.resize"},
       "evaluation.features",
       [](const JobSpec& job) { return !job.evaluation.features.empty(); }},
  };
}

/// Returns whether the key's value in `job` differs from the default.
bool is_other(const Key& key, const JobSpec& job) {
  return key.applies(job) && key.get(job) != default_of(key, *job.training.recipe);
}

std::string idle_complaint(std::string_view path, const IdleKeys& row, const JobSpec& job) {
  const std::vector<Key>& keys = key_table(*job.training.recipe);
  const auto key = std::ranges::find(keys, path, &Key::path);
  return key != keys.end() && is_other(*key, job) && !row.has_meaning(job)
             ? fmt::format("has a meaning with {} alone; leave it out", row.needs)
             : "";
}

}  // namespace

std::vector<Rule> idle_rules() {
  std::vector<Rule> rules;
  for (const IdleKeys& row : idle_keys()) {
    for (const std::string_view path : row.paths) {
      rules.push_back({{std::string(path)},
                       fmt::format("`{}` applies only with {}.", path, row.needs),
                       [path, row](const JobSpec& job) { return idle_complaint(path, row, job); },
                       {std::string(path)}});
    }
  }
  return rules;
}

}  // namespace gangway
