// SPDX-License-Identifier: MIT
#include "job/rules/placement_rules.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "job/network_groups.hpp"

namespace gangway {
namespace {

std::string check_group_sizes(const JobSpec& job) {
  for (const NetworkSpec& network : job.networks) {
    if (static_cast<int>(network.workers.size()) > job.training.microbatches) {
      return fmt::format(
          "layout.{} names {} workers, which cannot share training.microbatches {}: some would "
          "have none; name fewer, or use more micro-batches",
          network.name, network.workers.size(), job.training.microbatches);
    }
  }
  return {};
}

std::string check_apart_device(const JobSpec& job) {
  return places_networks(job) && job.numerics.device == DeviceKind::kCuda
             ? "networks apart go from CPU to CPU, and numerics.device is cuda; leave the workers "
               "of networks out, or use cpu"
             : "";
}

std::string check_apart_loss_scale(const JobSpec& job) {
  return places_networks(job) && job.scales_losses()
             ? "fp16 needs one loss scale of all networks, which workers that lack some do not "
               "know; leave the workers of networks out, or use bf16"
             : "";
}

std::string check_apart_pools(const JobSpec& job) {
  return places_networks(job) && job.training.recipe->has_pools && job.training.translation.pool > 0
             ? "image pools (training.pool) stay where their images are made; leave the workers of "
               "networks out, or use training.pool 0"
             : "";
}

}  // namespace

std::vector<Rule> placement_rules(const Recipe& recipe) {
  std::vector<std::string> keys;
  for (const RecipeNetwork& network : recipe.networks) {
    keys.push_back(fmt::format("layout.{}", network.name));
  }
  const auto about = [&keys](const std::string& other, std::string statement,
                             std::function<std::string(const JobSpec&)> complaint) {
    std::vector<std::string> all = keys;
    all.push_back(other);
    return Rule{std::move(all), std::move(statement), std::move(complaint)};
  };
  std::vector<Rule> rules{
      about("training.microbatches",
            "A network's workers in `layout` are at most `training.microbatches`.",
            check_group_sizes),
      about("numerics.device", "Workers of networks in `layout` go with `numerics.device` cpu.",
            check_apart_device),
      about("numerics.precision",
            "Workers of networks in `layout` do not go with `numerics.precision` fp16.",
            check_apart_loss_scale)};
  if (recipe.has_pools) {
    rules.push_back(about("training.pool",
                          "Workers of networks in `layout` go with `training.pool` 0.",
                          check_apart_pools));
  }
  return rules;
}

}  // namespace gangway
