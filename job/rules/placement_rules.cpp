// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/layout/layout.hpp"
#include "job/layout/stage_cuts.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

bool cuts(const JobSpec& job, std::string_view name) {
  return std::ranges::any_of(job.networks.ids(), [&](NetworkId network) {
    return job.networks[network].name == name && job.layout.wants_cut(network);
  });
}

std::string check_group_sizes(const JobSpec& job) {
  for (const NetworkId network : job.networks.ids()) {
    const std::vector<int>& workers = job.layout.networks[network].workers;
    if (!job.layout.wants_cut(network) &&
        std::cmp_greater(workers.size(), job.training.microbatches)) {
      return fmt::format(
          "layout.{} names {} workers, which cannot share training.microbatches {}: some would "
          "have none; name fewer, or use more micro-batches",
          job.networks[network].name, workers.size(), job.training.microbatches);
    }
  }
  return {};
}

std::string check_shares(const JobSpec& job) {
  const std::vector<int>& shares = job.layout.shares;
  const auto sum = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  return shares.empty() || sum == job.training.microbatches
             ? ""
             : fmt::format(
                   "layout.shares [{}] are {} micro-batches together, and training.microbatches is "
                   "{}; use shares of as many, or auto",
                   fmt::join(shares, ", "), sum, job.training.microbatches);
}

std::string check_apart_shares(const JobSpec& job) {
  return job.layout.places_networks() && !job.layout.shares.empty()
             ? "layout.shares needs workers that hold all networks; leave it out, or leave out "
               "layout.NETWORK, layout.cuts and layout.stages"
             : "";
}

std::string check_shares_order(const JobSpec& job) {
  return job.numerics.order == SumOrder::kNccl && !job.layout.shares.empty()
             ? "with numerics.order nccl the numbers depend on each worker's count of "
               "micro-batches; use tree, or layout.shares auto"
             : "";
}

std::string check_apart_order(const JobSpec& job) {
  return job.layout.places_networks() && job.numerics.order == SumOrder::kNccl
             ? "numerics.order nccl sums over all workers, which do not all hold a placed or cut "
               "network; leave layout.NETWORK, layout.cuts and layout.stages out, or use tree"
             : "";
}

std::string check_apart_loss_scale(const JobSpec& job) {
  return job.layout.places_networks() && job.scales_losses()
             ? "fp16 needs one loss scale for all networks, unknown to workers that lack a "
               "network; leave layout.NETWORK, layout.cuts and layout.stages out, or use bf16"
             : "";
}

std::string check_apart_pools(const JobSpec& job) {
  return job.layout.places_networks() && job.training.recipe->has_pools &&
                 job.training.translation.pool > 0
             ? "image pools (training.pool) stay where their images are made; leave "
               "layout.NETWORK, layout.cuts and layout.stages out, or use training.pool 0"
             : "";
}

std::string check_cut_diversity(const JobSpec& job) {
  return job.training.divergence.diversity > 0.0 && cuts(job, "discriminator")
             ? "training.divergence.diversity compares examples where they are judged, and the "
               "layout cuts the discriminator; keep it whole with layout.cuts.discriminator [], or "
               "use training.divergence.diversity 0"
             : "";
}

std::string check_own_step(const JobSpec& job) {
  if (job.training.step.file.empty()) {
    return job.training.recipe->is_own
               ? "a list of networks is for a step of your own; give training.step a class (docs/"
                 "own-step.md)"
               : "";
  }
  if (!job.training.step.is_python()) {
    return "training.step is a class of a Python file: FILE.py:CLASS (docs/own-step.md)";
  }
  const auto other = std::ranges::find_if(
      job.networks, [](const NetworkSpec& network) { return !network.module.is_python(); });
  if (other != job.networks.end()) {
    return fmt::format("training.step calls networks that are Python, too; give model.{} a class",
                       other->name);
  }
  if (job.layout.recompute) {
    return "training.step chooses itself what it keeps; leave layout.recompute out, and use "
           "torch.utils.checkpoint";
  }
  return job.layout.places_networks() ? "training.step calls all networks; leave layout.NETWORK, "
                                        "layout.cuts and layout.stages out"
                                      : "";
}

}  // namespace

std::vector<Rule> placement_rules(const Recipe& recipe) {
  std::vector<std::string> keys;
  for (const RecipeNetwork& network : recipe.networks) {
    keys.push_back(fmt::format("layout.{}", network.name));
  }
  keys.emplace_back("layout.stages");
  const auto about = [&keys](const std::string& other, std::string statement,
                             std::function<std::string(const JobSpec&)> complaint) {
    std::vector<std::string> all = keys;
    all.push_back(other);
    return Rule{std::move(all), std::move(statement), std::move(complaint)};
  };
  std::vector<Rule> rules{
      about("training.microbatches",
            "`layout.NETWORK` names at most `training.microbatches` workers per chunk.",
            check_group_sizes),
      about("numerics.order",
            "`layout.NETWORK`, `layout.cuts` and `layout.stages` need `numerics.order` tree.",
            check_apart_order),
      about(
          "numerics.precision",
          "`layout.NETWORK`, `layout.cuts` and `layout.stages` exclude `numerics.precision` fp16.",
          check_apart_loss_scale),
      about("training.divergence.diversity",
            "A discriminator cut by `layout.stages` or `layout.cuts` needs "
            "`training.divergence.diversity` 0.",
            check_cut_diversity),
      about("layout.shares",
            "`layout.shares` excludes `layout.NETWORK`, `layout.cuts` and `layout.stages`.",
            check_apart_shares),
      {{"training.step", "training.recipe", "layout.stages", "layout.recompute"},
       "With `training.step` all networks are Python classes, and each worker has all of them.",
       check_own_step},
      {{"layout.shares", "training.microbatches"},
       "The sum of `layout.shares` is `training.microbatches`.",
       check_shares},
      {{"layout.shares", "numerics.order"},
       "`layout.shares` goes with `numerics.order` tree.",
       check_shares_order}};
  if (recipe.has_pools) {
    rules.push_back(
        about("training.pool",
              "`layout.NETWORK`, `layout.cuts` and `layout.stages` need `training.pool` 0.",
              check_apart_pools));
  }
  return rules;
}

}  // namespace gangway
