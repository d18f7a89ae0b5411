// SPDX-License-Identifier: MIT
#include "job/spec.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "job/blocks/progressive/growth.hpp"
#include "job/data_source.hpp"
#include "job/families/families.hpp"
#include "job/models/python_network.hpp"

namespace gangway {
namespace {

std::optional<NetworkId> find_network(const Job& job, std::string_view name) {
  for (const NetworkId id : job.networks.ids()) {
    if (job.networks[id].name == name) {
      return id;
    }
  }
  return std::nullopt;
}

std::vector<PythonInput> inputs_of(const std::vector<OwnStepFacts::Input>& takes) {
  std::vector<PythonInput> inputs;
  for (const OwnStepFacts::Input& input : takes) {
    inputs.push_back({.name = fmt::format("input {}", inputs.size() + 1),
                      .shape = input.shape,
                      .is_whole = input.is_whole});
  }
  return inputs;
}

}  // namespace

bool DataSpec::has_two_sides() const {
  const std::string_view text = source;
  return takes == ExampleKind::kPair || takes == ExampleKind::kTwoPictures ||
         text.starts_with("pairs:") || text.starts_with("unpaired:") ||
         text.starts_with("edges:") || text.starts_with("classes:");
}

bool DataSpec::has_pairs() const {
  return takes == ExampleKind::kPair || source.starts_with("pairs:") ||
         source.starts_with("edges:");
}

PerNetwork<NetworkSpec> networks_of(const Recipe& recipe) {
  PerNetwork<NetworkSpec> networks;
  for (const RecipeNetwork& network : recipe.networks) {
    networks.add({.name = std::string(network.name),
                  .is_frozen = network.is_frozen,
                  .ema_kimg = network.ema_kimg});
  }
  return networks;
}

JobSpec JobSpec::of(const Recipe& recipe) {
  JobSpec job;
  job.training.recipe = &recipe;
  job.networks = networks_of(recipe);
  job.layout = LayoutChoice::of(recipe);
  return job;
}

NetworkId Job::id_of(std::string_view network) const {
  if (const auto id = find_network(*this, network)) {
    return *id;
  }
  throw InvariantError(fmt::format("recipe {} has no network {}", training.recipe->name, network));
}

NetworkId Job::chosen(std::string_view name) const {
  if (name.empty()) {
    return shown_network();
  }
  if (const auto id = find_network(*this, name)) {
    return *id;
  }
  throw ConfigError(fmt::format("the job has no network '{}'; it has {}", name,
                                fmt::join(network_names(), ", ")));
}

PerNetwork<std::string> Job::network_names() const {
  PerNetwork<std::string> names;
  for (const NetworkSpec& network : networks) {
    names.add(network.name);
  }
  return names;
}

bool Job::scales_losses() const {
  return std::ranges::find(networks, Precision::kFp16, &NetworkSpec::precision) != networks.end();
}

Precision Job::penalty_precision(NetworkId network) const {
  const Precision of_passes = networks[network].precision;
  const Precision wanted = numerics.penalties.value_or(
      of_passes == Precision::kFp32 ? Precision::kFp32 : Precision::kTf32);
  return wanted == Precision::kTf32 && numerics.device == DeviceKind::kCpu ? Precision::kFp32
                                                                           : wanted;
}

bool Job::computes_in_python() const {
  return training.step.is_python() || std::ranges::any_of(networks, [](const NetworkSpec& network) {
           return network.module.is_python();
         });
}

bool Job::rounds_wire() const {
  return std::ranges::any_of(
      networks, [](const NetworkSpec& network) { return network.wire != WireFormat::kFp32; });
}

ModelSpec Job::settled_model() const {
  ModelSpec settled = model;
  if (settled.normalization == Normalization::kAuto) {
    // BatchNorm mixes examples, so a penalty on the gradient of one example would mean nothing
    // (Gulrajani et al., 2017, section 4).
    settled.normalization = model.family->normalizes_by_default && !training.penalty.is_any()
                                ? Normalization::kBatch
                                : Normalization::kNone;
  }
  return settled;
}

PerNetwork<Architecture> Job::architectures() const {
  const ModelSpec settled = settled_model();
  PerNetwork<Architecture> all;
  for (const NetworkId id : networks.ids()) {
    const NetworkSpec& network = networks[id];
    const RecipeNetwork& row = training.recipe->networks[static_cast<std::size_t>(id)];
    const std::string_view role = row.role;
    Architecture architecture;
    if (network.module.file.empty()) {
      ModelSpec own = settled;
      own.width = row.is_teacher ? training.distill.teacher_width : own.width;
      architecture = architecture_of(own, role);
    } else {
      PythonSpec spec = python_network(role, settled, example_shape(settled));
      spec.key = "model." + network.name;
      spec.file = network.module.file;
      spec.module = network.module.module;
      spec.hash = network.module.hash;
      spec.python_class = network.module.python_class;
      spec.arguments = network.module.arguments;
      spec.seed = training.seed;
      spec.is_penalised = training.penalty.is_any() && role == "discriminator";
      spec.is_free = training.step.is_python() &&
                     (training.own.shows || network.name != training.recipe->shown);
      if (const auto takes = training.own.takes.find(network.name);
          takes != training.own.takes.end()) {
        spec.inputs = inputs_of(takes->second);
      }
      spec.num_parameters = network.module.num_parameters;
      architecture.levels = level_names(spec.levels);
      architecture.blocks.emplace_back(std::move(spec));
    }
    architecture.name = network.name;
    all.add(std::move(architecture));
  }
  return all;
}

double Job::growth_level(std::int64_t images) const {
  return model.family->grows() ? gangway::growth_level(training.growth, model.resolution, images)
                               : kFullyGrown;
}

bool Job::ends_burn_in() const {
  const auto moves = [](const NetworkSpec& network) {
    return network.final_beta2 > 0.0 || ends_with_burn_in(network.schedule) ||
           ends_with_burn_in(network.beta1_schedule) || ends_with_burn_in(network.beta2_schedule) ||
           ends_with_burn_in(network.ema_schedule);
  };
  return training.burn_in_kimg == 0.0 &&
         (ends_with_burn_in(training.penalty.gamma_course()) ||
          ends_with_burn_in(training.penalty.gradient_schedule) ||
          ends_with_burn_in(training.augment.schedule) || std::ranges::any_of(networks, moves));
}

std::int64_t Job::total_steps() const {
  return static_cast<std::int64_t>(
      std::ceil(training.kimg * 1000.0 / static_cast<double>(images_per_step())));
}

std::int64_t Job::steps_of_kimg(double kimg) const {
  if (kimg <= 0.0) {
    return 0;
  }
  const double steps = std::round(kimg * 1000.0 / static_cast<double>(images_per_step()));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

bool JobSpec::compares_pictures() const {
  return !training.recipe->translates && !data.source.starts_with(kToySource) &&
         (data.source != kStackedSource || !evaluation.features.empty());
}

std::vector<Metric> JobSpec::metrics() const {
  // The LeNet takes one channel, so it sees no colours.
  const Metric usual =
      model.channels == 1 || !evaluation.features.empty() ? Metric::kFd : Metric::kSwd;
  std::vector<Metric> all = evaluation.metrics;
  const auto is_score = [](Metric metric) { return metric != Metric::kPr; };
  const auto first = std::ranges::find_if(all, is_score);
  const Metric score = evaluation.decides.value_or(first == all.end() ? usual : *first);
  std::erase(all, score);
  all.insert(all.begin(), score);
  return all;
}

std::array<std::int64_t, 3> JobSpec::checkpoint_steps() const {
  return {steps_of_kimg(checkpoint.every_kimg), checkpoint.every_steps,
          steps_of_kimg(evaluation.every_kimg)};
}

}  // namespace gangway
