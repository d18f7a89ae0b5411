// SPDX-License-Identifier: MIT
#include "job/rules/rules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "job/choices.hpp"
#include "job/families/families.hpp"
#include "job/keys/per_recipe.hpp"
#include "job/rules/rule.hpp"
#include "job/transports.hpp"

namespace gangway {
namespace {

std::string check_workers(const JobSpec& job) {
  if (job.layout.data <= job.training.microbatches) {
    return {};
  }
  return fmt::format(
      "layout.data {} workers cannot share training.microbatches {}: some would have none; use at "
      "most {} "
      "workers or more micro-batches",
      job.layout.data, job.training.microbatches, job.training.microbatches);
}

std::string check_audit(const JobSpec& job) {
  return job.layout.audit && job.layout.check_steps == 0
             ? "layout.audit runs every layout.check_steps, which is 0; use 1 or more"
             : "";
}

std::string check_device(const JobSpec& job) {
  const bool on_gpus = job.numerics.device == DeviceKind::kCuda;
  const TransportTraits& transport = traits_of(job.layout.transport);
  if (on_gpus && transport.device == TransportDevice::kCpu) {
    return fmt::format(
        "GPUs talk over nccl, and layout.transport is {}; leave it out, or use hierarchical or "
        "nccl",
        transport.name);
  }
  if (job.numerics.device == DeviceKind::kCpu && transport.device == TransportDevice::kGpu) {
    return fmt::format(
        "layout.transport {} is for GPUs; use numerics.device cuda, or another transport",
        transport.name);
  }
  return {};
}

std::string check_route(const JobSpec& job) {
  return job.numerics.order == SumOrder::kNccl &&
                 job.layout.transport == TransportKind::kHierarchical
             ? "with numerics.order nccl NCCL chooses its own routes; use tree, or leave "
               "layout.transport out"
             : "";
}

std::string check_precision(const JobSpec& job) {
  const auto has = [&job](Precision precision) {
    return std::ranges::find(job.networks, precision, &NetworkSpec::precision) !=
           job.networks.end();
  };
  if (has(Precision::kTf32) && job.numerics.device == DeviceKind::kCpu) {
    return "numerics.precision tf32 is what GPUs make of float32, and numerics.device is cpu; use "
           "fp32, bf16 or auto";
  }
  return {};
}

std::string check_order(const JobSpec& job) {
  const bool clips = std::ranges::any_of(
      job.networks, [](const NetworkSpec& network) { return network.clip_norm > 0.0; });
  const bool agrees = clips || job.training.divergence.gradient_norm > 0.0 || job.scales_losses();
  if (job.numerics.order == SumOrder::kTree || (!job.rounds_wire() && !agrees)) {
    return {};
  }
  return "numerics.order nccl goes neither with clip_norm, training.divergence.gradient_norm or "
         "fp16, nor with another wire than fp32; use tree";
}

Rule frozen_rule(const std::string& network) {
  return {
      {network + ".frozen", network + ".weights"},
      fmt::format("`{}.frozen` needs `{}.weights`, or a network of your own.", network, network),
      [network](const JobSpec& job) {
        const NetworkSpec& spec = job.network(network);
        return spec.is_frozen && spec.weights.empty() && spec.module.file.empty()
                   ? fmt::format("a frozen network needs {}.weights, a file to stay with", network)
                   : "";
      }};
}

Rule initialization_rule(const std::string& network) {
  return {
      {network + ".initialization", "model.family"},
      fmt::format(
          "`{}.initialization` is family with a network of your own, and with `model.family` {}.",
          network, family_names(" or ", &ModelFamily::equalizes)),
      [network](const JobSpec& job) -> std::string {
        const NetworkSpec& spec = job.network(network);
        if (spec.initialization.kind == InitializationKind::kFamily) {
          return {};
        }
        if (!spec.module.file.empty()) {
          return fmt::format("model.{} is a file, which says what it begins with; use family",
                             network);
        }
        return job.model.family->equalizes
                   ? fmt::format(
                         "family {} scales its weights where they are applied, so they "
                         "begin as it has them; use family",
                         job.model.family->name)
                   : "";
      },
      {network + ".initialization"}};
}

Rule never_trained_rule(const std::string& network) {
  return {{network + ".frozen"},
          fmt::format("`{}.frozen` is true.", network),
          [network](const JobSpec& job) {
            return job.network(network).is_frozen
                       ? ""
                       : fmt::format("recipe {} does not train its {}; leave frozen out",
                                     job.training.recipe->name, network);
          }};
}

/// Returns the rules for all networks of a recipe.
std::vector<Rule> network_rules(const Recipe& recipe) {
  Rule order{{"numerics.order", "numerics.wire", "numerics.precision",
              "training.divergence.gradient_norm"},
             "`numerics.order` nccl needs `numerics.wire` fp32, and excludes clipping, "
             "`training.divergence.gradient_norm` and `numerics.precision` fp16.",
             check_order};
  std::vector<Rule> rules;
  for (const RecipeNetwork& network : recipe.networks) {
    order.keys.push_back(fmt::format("{}.clip_norm", network.name));
    rules.push_back(frozen_rule(std::string(network.name)));
    rules.push_back(initialization_rule(std::string(network.name)));
    if (network.is_frozen) {
      rules.push_back(never_trained_rule(std::string(network.name)));
    }
  }
  rules.push_back({{fmt::format("{}.frozen", recipe.networks.back().name)},
                   "At least one network is trained.",
                   [](const JobSpec& job) {
                     return std::ranges::all_of(job.networks, &NetworkSpec::is_frozen)
                                ? "all networks are frozen; leave one to be trained"
                                : "";
                   }});
  rules.insert(rules.begin(), std::move(order));
  return rules;
}

std::vector<Rule> layout_rules() {
  return {
      {{"layout.data", "training.microbatches"},
       "`layout.data` is at most `training.microbatches`.",
       check_workers},
      {{"layout.audit", "layout.check_steps"},
       "`layout.audit` needs `layout.check_steps` above 0.",
       check_audit,
       {"layout.audit"}},
      {{"numerics.precision", "numerics.device"},
       "`numerics.precision` tf32 goes with `numerics.device` cuda.",
       check_precision},
      {{"layout.transport", "numerics.device"},
       "`numerics.device` cuda goes with `layout.transport` hierarchical and nccl (or auto), and "
       "nccl with cuda.",
       check_device,
       {"layout.transport"}},
      {{"layout.transport", "numerics.order"},
       "`layout.transport` hierarchical goes with `numerics.order` tree.",
       check_route},
  };
}

std::string check_scores(const JobSpec& job) {
  const bool needs_scores = job.checkpoint.early_stop > 0 || job.training.plateau.patience > 0;
  const bool has_scores = job.checkpoint.keep_best > 0 &&
                          (job.checkpoint.every_kimg > 0.0 || job.checkpoint.every_steps > 0 ||
                           job.evaluation.every_kimg > 0.0);
  return needs_scores && !has_scores
             ? "checkpoint.early_stop and training.plateau go by the scores of checkpoints at "
               "steps that the job fixes; set checkpoint.keep_best to 1 or more, and "
               "evaluation.every_kimg, checkpoint.every_kimg or every_steps"
             : "";
}

std::string check_decides(const JobSpec& job) {
  const std::vector<Metric>& metrics = job.evaluation.metrics;
  const std::optional<Metric> decides = job.evaluation.decides;
  if (metrics == std::vector{Metric::kPr}) {
    return "precision and recall are two numbers, of which none is the score; add swd, fd or kid";
  }
  return decides && !metrics.empty() && std::ranges::find(metrics, *decides) == metrics.end()
             ? fmt::format("evaluation.decides {} is none of evaluation.metrics; add it there",
                           name_of(decides))
             : "";
}

std::string check_score_place(const JobSpec& job) {
  if (job.evaluation.where != ScorePlace::kDevice) {
    return {};
  }
  return job.numerics.device == DeviceKind::kCpu
             ? "device takes scores on a GPU, and numerics.device is cpu; use beside, or spare"
         : job.training.step.is_python()
             ? "training.step scores with tensors on the CPU; use beside, or spare"
             : "";
}

std::vector<Rule> score_rules() {
  return {
      {{"evaluation.where", "numerics.device", "training.step"},
       "`evaluation.where` device needs `numerics.device` cuda, and excludes `training.step`.",
       check_score_place,
       {"evaluation.where"}},
      {{"evaluation.decides", "evaluation.metrics"},
       "`evaluation.decides` is one of `evaluation.metrics`, which are not pr alone.",
       check_decides,
       {"evaluation.decides"}},
      {{"checkpoint.early_stop.patience", "training.plateau.patience", "checkpoint.keep_best"},
       "`checkpoint.early_stop` and `training.plateau` need `checkpoint.keep_best` above 0, and "
       "`evaluation.every_kimg`, `checkpoint.every_kimg` or `every_steps`.",
       check_scores,
       {"checkpoint.early_stop.patience", "training.plateau.patience"}}};
}

std::string check_diversity(const JobSpec& job) {
  return job.training.divergence.diversity > 0.0 && job.images_per_microbatch() < 2
             ? "a micro-batch of one example has no spread; use 0, or fewer training.microbatches"
             : "";
}

std::vector<Rule> divergence_rules() {
  return {
      {{"training.divergence.diversity", "training.microbatches", "training.batch"},
       "`training.divergence.diversity` above 0 needs micro-batches of two examples at least.",
       check_diversity},
  };
}

std::vector<Rule> make_rules(const Recipe& recipe) {
  std::vector<Rule> rules = data_rules();
  std::ranges::move(model_rules(), std::back_inserter(rules));
  std::ranges::move(discriminator_rules(), std::back_inserter(rules));
  std::ranges::move(augment_rules(), std::back_inserter(rules));
  std::ranges::move(distill_rules(), std::back_inserter(rules));
  std::ranges::move(layout_rules(), std::back_inserter(rules));
  std::ranges::move(placement_rules(recipe), std::back_inserter(rules));
  std::ranges::move(score_rules(), std::back_inserter(rules));
  std::ranges::move(divergence_rules(), std::back_inserter(rules));
  std::ranges::move(output_rules(), std::back_inserter(rules));
  std::ranges::move(idle_rules(), std::back_inserter(rules));
  std::ranges::move(network_rules(recipe), std::back_inserter(rules));
  std::ranges::move(schedule_rules(recipe), std::back_inserter(rules));
  return rules;
}

}  // namespace

const std::vector<Rule>& job_rules(const Recipe& recipe) {
  static PerRecipe<std::vector<Rule>> rules(make_rules);
  return rules.of(recipe);
}

std::string broken_rule(const JobSpec& job) {
  for (const Rule& rule : job_rules(*job.training.recipe)) {
    if (std::string complaint = rule.complaint(job); !complaint.empty()) {
      return complaint;
    }
  }
  return {};
}

}  // namespace gangway
