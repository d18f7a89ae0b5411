// SPDX-License-Identifier: MIT
#include "launch/model/trained_run.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/checkpoint_reader.hpp"
#include "checkpoint/store/scan.hpp"
#include "job/file/parse.hpp"
#include "job/modules/module_files.hpp"
#include "launch/model/load_tensor.hpp"
#include "launch/model/python_lines.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAverageSuffix = "_ema";

fs::path find_directory(const RunChoice& choice) {
  if (const auto found = try_find_directory(choice)) {
    return *found;
  }
  throw ConfigError(
      fmt::format("no run '{}': neither a run directory nor a name in {}; see the folders there, "
                  "or give --outdir",
                  choice.run, choice.outdir.string()));
}

/// Without a step, the newest whose contents are sound: it is to be computed with.
fs::path choose_checkpoint(const fs::path& checkpoints, std::optional<std::int64_t> step) {
  if (step) {
    return checkpoint::find_checkpoint(checkpoints, step).path;
  }
  const auto newest = checkpoint::newest_valid(
      checkpoints, [](const std::string& line) { fmt::print(stderr, "warning: {}\n", line); });
  if (!newest) {
    throw CheckpointError(checkpoints.string() +
                          ": no usable checkpoint; train first, or see `gangway checkpoints ls`");
  }
  return newest->path;
}

/// Under which the checkpoint has a tensor of the network: those of the generator's average are
/// "generator_ema/…".
std::string stored_name(const std::string& name, WeightVersion weights) {
  const std::size_t slash = name.find('/');
  return weights == WeightVersion::kLast
             ? name
             : name.substr(0, slash) + kAverageSuffix + name.substr(slash);
}

void load_values(gan::Network& network, const checkpoint::CheckpointReader& reader,
                 WeightVersion weights, const std::string& where) {
  for (const gan::Network::NamedParameter& named : network.parameters()) {
    load_tensor(reader.require(stored_name(named.name, weights)), named.parameter->tensor, where);
  }
  for (const gan::Network::NamedStatistic& named : network.statistics()) {
    load_tensor(reader.require(stored_name(named.name, weights)), named.statistic->running, where);
  }
}

}  // namespace

std::optional<fs::path> try_find_directory(const RunChoice& choice) {
  std::error_code failure;
  return fs::is_regular_file(fs::path(choice.run) / kJobFile, failure)
             ? std::optional(fs::path(choice.run))
             : find_run(choice.outdir, choice.run);
}

TrainedNetwork load_network(const fs::path& checkpoint, const NetworkChoice& choice) {
  const checkpoint::CheckpointReader reader(checkpoint);
  // The checkpoint's own copy of the job: these weights belong to that model, whatever job.yaml
  // says by now.
  const checkpoint::Manifest& manifest = reader.manifest();
  const fs::path run = fs::absolute(checkpoint).parent_path().parent_path();
  JobSpec job = parse_job(manifest.job_yaml, checkpoint.string() + " (job)", run,
                          checkpoint / checkpoint::kManifestName);
  use_kept_modules(job, run);
  gan::open_python(job, python_lines());
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  gan::Network& network = networks[job.chosen(choice.network)];
  const std::string first = network.parameters().front().name;
  const bool has_average = reader.find(stored_name(first, WeightVersion::kAverage)) != nullptr;
  const WeightVersion weights = has_average ? choice.weights : WeightVersion::kLast;
  load_values(network, reader, weights, checkpoint.string());
  network.grow_to(job.growth_level(manifest.images));
  return {.job = job,
          .job_yaml = manifest.job_yaml,
          .checkpoint_id = manifest.checkpoint_id,
          .step = manifest.step,
          .images = manifest.images,
          .weights = weights,
          .network = std::move(network)};
}

TrainedRun open_trained_run(const RunChoice& choice) {
  const fs::path directory = find_directory(choice);
  TrainedNetwork trained =
      load_network(choose_checkpoint(directory / kCheckpointsFolder, choice.step), {});
  if (const Recipe& recipe = *trained.job.training.recipe; !recipe.has_samples()) {
    throw ConfigError(fmt::format(
        "{}: recipe {} makes its pictures of other pictures, so there are no samples and no scores "
        "of them; see the run's fakes*.png, or `gangway checkpoints export` its {}",
        directory.string(), recipe.name, recipe.shown));
  }
  return {.directory = directory,
          .job = trained.job,
          .checkpoint_id = trained.checkpoint_id,
          .step = trained.step,
          .images = trained.images,
          .weights = trained.weights,
          .generator = std::move(trained.network)};
}

}  // namespace gangway::launch
