// SPDX-License-Identifier: MIT
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "job/rules/rule.hpp"

namespace gangway {
namespace {

/// A schedule of a job, and the names of its words.
struct ScheduleRow {
  std::string path;               ///< "generator.schedule"
  std::vector<std::string> keys;  ///< to blame; the first if the user gave none
  std::string final = "final";    ///< word for the final value
  std::function<const ScheduleSpec&(const JobSpec&)> schedule;
  std::function<double(const JobSpec&)> base = [](const JobSpec&) { return 1.0; };
};

std::string step_complaint(const ScheduleSpec& schedule, const std::string& path) {
  if (schedule.step_kimg <= 0.0 && schedule.milestones.empty()) {
    return fmt::format("decay step needs {}.step_kimg above 0, or milestones", path);
  }
  return schedule.step_kimg > 0.0 && !schedule.milestones.empty()
             ? fmt::format("{} has step_kimg and milestones; keep one of them", path)
             : "";
}

std::string exponential_complaint(const ScheduleRow& row, const JobSpec& job) {
  if (row.base(job) <= 0.0) {
    return fmt::format("decay exponential multiplies, and what {} begins with is 0; use linear",
                       row.path);
  }
  return row.schedule(job).final_value <= 0.0
             ? fmt::format("decay exponential never comes to 0; give {}.{} above 0", row.path,
                           row.final)
             : "";
}

/// Returns the complaint about numbers that the decay needs and lacks.
std::string need_complaint(const ScheduleRow& row, const JobSpec& job) {
  const ScheduleSpec& schedule = row.schedule(job);
  if (schedule.decay == DecayKind::kStep) {
    return step_complaint(schedule, row.path);
  }
  return schedule.decay == DecayKind::kExponential ? exponential_complaint(row, job) : "";
}

std::string start_complaint(const ScheduleRow& row, const JobSpec& job) {
  const ScheduleSpec& schedule = row.schedule(job);
  const double end = schedule.end_kimg > 0.0 ? schedule.end_kimg : job.burn_in_images() / 1000.0;
  return has_end(schedule.decay) && schedule.start_kimg >= end
             ? fmt::format(
                   "{}.start_kimg {} is not before its end, {}; begin earlier, or give end_kimg",
                   row.path, schedule.start_kimg, end)
             : "";
}

void add_rules_of(const ScheduleRow& row, std::vector<Rule>& rules) {
  rules.push_back(
      {row.keys,
       fmt::format("`{}` has what its decay needs: step `step_kimg` or `milestones`, exponential "
                   "`{}` above 0.",
                   row.path, row.final),
       [row](const JobSpec& job) { return need_complaint(row, job); }});
  std::vector<std::string> keys = row.keys;
  keys.insert(keys.end(), {"training.kimg", "training.burn_in_kimg"});
  rules.push_back({std::move(keys), fmt::format("`{}` begins before it ends.", row.path),
                   [row](const JobSpec& job) { return start_complaint(row, job); }});
}

ScheduleRow rate_row(const std::string& network) {
  ScheduleRow row{.path = network + ".schedule",
                  .final = "final_factor",
                  .schedule = [network](const JobSpec& job) -> const ScheduleSpec& {
                    return job.network(network).schedule;
                  }};
  for (const char* word :
       {"decay", "step_kimg", "milestones", "start_kimg", "end_kimg", "final_factor"}) {
    row.keys.push_back(fmt::format("{}.{}", row.path, word));
  }
  return row;
}

/// @param name  "beta1"
ScheduleRow value_row(const std::string& network, const std::string& name,
                      ScheduleSpec NetworkSpec::*schedule,
                      const std::function<double(const NetworkSpec&)>& base) {
  const std::string path = fmt::format("{}.schedule.{}", network, name);
  return {.path = path,
          .keys = {path},
          .schedule = [network, schedule](const JobSpec& job) -> const ScheduleSpec& {
            return job.network(network).*schedule;
          },
          .base = [network, base](const JobSpec& job) { return base(job.network(network)); }};
}

ScheduleRow penalty_row(const std::string& path, ScheduleSpec PenaltySpec::*schedule) {
  return {.path = path,
          .keys = {path},
          .final = "final_factor",
          .schedule = [schedule](const JobSpec& job) -> const ScheduleSpec& {
            return job.training.penalty.*schedule;
          }};
}

ScheduleRow augment_row() {
  const std::string path = "training.augment.schedule";
  return {.path = path,
          .keys = {path},
          .schedule = [](const JobSpec& job) -> const ScheduleSpec& {
            return job.training.augment.schedule;
          },
          .base = [](const JobSpec& job) { return job.training.augment.strength.value_or(0.0); }};
}

/// Returns the rule against two keys with one meaning.
Rule one_way_rule(const std::string& older, const std::string& newer,
                  std::function<bool(const JobSpec&)> are_both) {
  return {{newer, older},
          fmt::format("`{}` and `{}` are not both given.", older, newer),
          [older, newer, are_both = std::move(are_both)](const JobSpec& job) {
            return are_both(job) ? fmt::format("{} is given as well; keep one of them", older) : "";
          },
          {older, newer}};
}

void add_network_schedule_rules(const RecipeNetwork& network, std::vector<Rule>& rules) {
  const std::string name(network.name);
  add_rules_of(rate_row(name), rules);
  add_rules_of(value_row(name, "beta1", &NetworkSpec::beta1_schedule,
                         [](const NetworkSpec& spec) { return spec.optimizer.betas[0]; }),
               rules);
  add_rules_of(value_row(name, "beta2", &NetworkSpec::beta2_schedule,
                         [](const NetworkSpec& spec) { return spec.optimizer.betas[1]; }),
               rules);
  rules.push_back(one_way_rule(
      name + ".schedule.final_beta2", name + ".schedule.beta2", [name](const JobSpec& job) {
        const NetworkSpec& spec = job.network(name);
        return spec.final_beta2 > 0.0 && spec.beta2_schedule != ScheduleSpec{};
      }));
  if (network.is_averaged) {
    add_rules_of(value_row(name, "ema", &NetworkSpec::ema_schedule,
                           [](const NetworkSpec& spec) { return spec.ema_kimg; }),
                 rules);
  }
}

}  // namespace

std::vector<Rule> schedule_rules(const Recipe& recipe) {
  std::vector<Rule> rules;
  for (const RecipeNetwork& network : recipe.networks) {
    add_network_schedule_rules(network, rules);
  }
  if (recipe.augments) {
    add_rules_of(augment_row(), rules);
  }
  if (recipe.takes_penalties) {
    add_rules_of(penalty_row("training.r1.schedule", &PenaltySpec::gamma_schedule), rules);
    add_rules_of(penalty_row("training.gradient_penalty_schedule", &PenaltySpec::gradient_schedule),
                 rules);
    rules.push_back(
        one_way_rule("training.r1.final_factor", "training.r1.schedule", [](const JobSpec& job) {
          const PenaltySpec& penalty = job.training.penalty;
          return penalty.final_factor != 1.0 && penalty.gamma_schedule != ScheduleSpec{};
        }));
  }
  return rules;
}

}  // namespace gangway
