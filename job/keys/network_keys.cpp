// SPDX-License-Identifier: MIT
#include "job/keys/network_keys.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "job/keys/key_types.hpp"
#include "job/optimizers.hpp"

namespace gangway {
namespace {

using Keys = std::vector<Key>;

/// The map `NETWORK.optimizer.KIND` itself: naming a kind other than the one before starts from
/// that kind's defaults.
template <typename Network>
Key optimizer_variant(const std::string& path, Network network, OptimizerKind kind) {
  std::vector<std::string> names;
  std::vector<std::string> sources;
  for (const OptimizerRow& row : kOptimizers) {
    names.emplace_back(row.name);
    sources.push_back(fmt::format("{} ({})", row.name, row.source));
  }
  Key key = make_key({path, "", "Optimiser: " + joined(sources, " or ")}, "map",
                     "one of " + joined(names, ", "));
  key.is_variant = true;
  key.set = [network, kind](const YamlNode&, JobSpec& job) -> std::string {
    if (network(job).optimizer.kind != kind) {
      network(job).optimizer = OptimizerSpec{};
      network(job).optimizer.kind = kind;
    }
    return {};
  };
  key.get = [](const JobSpec&) { return std::string(); };
  return key;
}

/// The key of `number`, whose field is one number or two.
template <typename Network>
Key optimizer_number(const std::string& path, Network network, const OptimizerNumber& number) {
  const auto make = [&](const auto& member) {
    KeyText text{path + "." + std::string(number.name), "", std::string(number.description)};
    const auto field = [ network, member ](auto& job) -> auto& {
      return network(job).optimizer.*member;
    };
    if constexpr (std::is_same_v<decltype(member), double OptimizerSpec::*const&>) {
      return real_key(std::move(text), field, number.bounds);
    } else {
      return pair_key(std::move(text), field, number.bounds);
    }
  };
  return std::visit(make, number.field);
}

template <typename Network>
void add_optimizer(Keys& keys, const std::string& section, Network network,
                   const OptimizerRow& row) {
  const OptimizerKind kind = row.kind;
  const std::string path = section + ".optimizer." + std::string(row.name);
  Keys own;
  own.push_back(optimizer_variant(path, network, kind));
  own.push_back(real_key(
      {path + ".lr", "", "Learning rate"},
      [network](auto& job) -> auto& { return network(job).optimizer.lr; }, kAboveZero));
  for (const OptimizerNumber& number : row.numbers) {
    own.push_back(optimizer_number(path, network, number));
  }
  for (Key& key : own) {
    key.why_refused = [network, kind](const JobSpec& job) -> std::string {
      return network(job).optimizer.kind == kind ? "" : "belongs to another optimiser";
    };
    keys.push_back(std::move(key));
  }
}

template <typename Network>
void add_network(Keys& keys, const std::string& section, Network network) {
  for (const OptimizerRow& row : kOptimizers) {
    add_optimizer(keys, section, network, row);
  }
  keys.push_back(real_key(
      {section + ".schedule.warmup_kimg", kKimg, "Learning rate rises linearly from 0 over these"},
      [network](auto& job) -> auto& { return network(job).schedule.warmup_kimg; }, kZeroOrMore));
  keys.push_back(choice_key(
      {section + ".schedule.decay", "", "How the learning rate falls"},
      [network](auto& job) -> auto& { return network(job).schedule.decay; }));
  keys.push_back(real_key(
      {section + ".schedule.step_kimg", kKimg, "With decay step: from one fall to the next"},
      [network](auto& job) -> auto& { return network(job).schedule.step_kimg; }, kZeroOrMore));
  keys.push_back(real_key(
      {section + ".schedule.step_factor", "", "With decay step: factor at each fall"},
      [network](auto& job) -> auto& { return network(job).schedule.step_factor; },
      kAboveZeroToOne));
  keys.push_back(real_key(
      {section + ".schedule.final_factor", "", "With decay cosine: factor at training.kimg"},
      [network](auto& job) -> auto& { return network(job).schedule.final_factor; }, kZeroToOne));
  keys.push_back(real_key(
      {section + ".clip_norm", "", "Largest norm of the whole gradient; 0: no clipping"},
      [network](auto& job) -> auto& { return network(job).clip_norm; }, kZeroOrMore));
  keys.push_back(file_or_none_key(
      {section + ".weights", "", "Weights to begin from, instead of random ones"},
      [network](auto& job) -> auto& { return network(job).weights; },
      "none, or a safetensors file as of gangway checkpoints export"));
}

}  // namespace

void add_network_keys(std::vector<Key>& keys) {
  add_network(
      keys, "generator", [](auto& job) -> auto& { return job.generator; });
  keys.push_back(real_key(
      {"generator.ema_kimg", kKimg,
       "Half-life of the average of the weights, 1/13 of the images so far at most; 0: no average"},
      [](auto& job) -> auto& { return job.generator.ema_kimg; }, kZeroOrMore));
  add_network(
      keys, "discriminator", [](auto& job) -> auto& { return job.discriminator; });
  keys.push_back(whole_key(
      {"discriminator.steps", "", "Updates of the discriminator for one of the generator"},
      [](auto& job) -> auto& { return job.discriminator.steps; }, {1, 1000}));
}

}  // namespace gangway
