// SPDX-License-Identifier: MIT
#include "launch/model/trained_run.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "checkpoint/directory.hpp"
#include "job/errors.hpp"
#include "job/parse.hpp"
#include "job/run_directory.hpp"
#include "launch/model/load_tensor.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLastPrefix = "generator/";
constexpr const char* kAveragePrefix = "generator_ema/";

fs::path find_directory(const RunChoice& choice) {
  std::error_code failure;
  if (fs::is_regular_file(fs::path(choice.run) / kJobFile, failure)) {
    return choice.run;
  }
  if (const auto found = find_run(choice.outdir, choice.run)) {
    return *found;
  }
  throw ConfigError(
      fmt::format("no run '{}': neither a run directory nor a name in {}; see the folders there, "
                  "or give --outdir",
                  choice.run, choice.outdir.string()));
}

fs::path find_checkpoint(const fs::path& checkpoints, std::optional<std::int64_t> step) {
  if (!step) {
    const auto newest = checkpoint::newest_valid(
        checkpoints, [](const std::string& line) { fmt::print(stderr, "warning: {}\n", line); });
    if (!newest) {
      throw CheckpointError(checkpoints.string() +
                            ": no usable checkpoint; train first, or see `gangway checkpoints ls`");
    }
    return newest->path;
  }
  const std::vector<checkpoint::CheckpointEntry> entries =
      checkpoint::list_checkpoints(checkpoints);
  const auto entry = std::ranges::find(entries, *step, &checkpoint::CheckpointEntry::step);
  if (entry == entries.end()) {
    throw CheckpointError(fmt::format(
        "{}: no checkpoint of step {}; `gangway checkpoints ls` shows those that are there",
        checkpoints.string(), *step));
  }
  return entry->path;
}

/// Tensors of the generator are stored as "generator/…", those of its average as "generator_ema/…".
void load_generator(gan::Network& generator, const checkpoint::CheckpointReader& reader,
                    WeightVersion weights, const std::string& where) {
  const auto stored = [&](const std::string& name) {
    return weights == WeightVersion::kLast
               ? name
               : kAveragePrefix + name.substr(std::string_view(kLastPrefix).size());
  };
  for (const gan::Network::NamedParameter& named : generator.parameters()) {
    load_tensor(reader.require(stored(named.name)), named.parameter->tensor, where);
  }
  for (const gan::Network::NamedStatistic& named : generator.statistics()) {
    load_tensor(reader.require(stored(named.name)), named.statistic->running, where);
  }
}

}  // namespace

TrainedRun open_trained_run(const RunChoice& choice) {
  const fs::path directory = find_directory(choice);
  const fs::path checkpoint = find_checkpoint(directory / kCheckpointsFolder, choice.step);
  const checkpoint::CheckpointReader reader(checkpoint);
  // The checkpoint's own copy of the job: these weights belong to that model, whatever job.yaml
  // says by now.
  const JobSpec job = parse_job(reader.manifest().job_yaml, checkpoint.string() + " (job)");
  gan::NetworkPair networks = gan::build_networks(job);
  const std::string first = networks.generator.parameters().front().name;
  const bool has_average =
      reader.find(kAveragePrefix + first.substr(std::string_view(kLastPrefix).size())) != nullptr;
  const WeightVersion weights = has_average ? WeightVersion::kAverage : WeightVersion::kLast;
  load_generator(networks.generator, reader, weights, checkpoint.string());
  return {.directory = directory,
          .job = job,
          .step = reader.manifest().step,
          .images = reader.manifest().images,
          .weights = weights,
          .generator = std::move(networks.generator)};
}

}  // namespace gangway::launch
