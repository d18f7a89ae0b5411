// SPDX-License-Identifier: MIT
#include "launch/model/trained_run.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/store/scan.hpp"
#include "gan/evaluation/generate.hpp"
#include "job/families/families.hpp"
#include "job/file/parse.hpp"
#include "job/modules/module_files.hpp"
#include "python/open/python_library.hpp"
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

/// Without a step, chooses the newest checkpoint with intact contents.
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

/// Returns the checkpoint's tensor name; averages of the generator are "generator_ema/…".
std::string stored_name(const std::string& name, WeightVersion weights) {
  const std::size_t slash = name.find('/');
  return weights == WeightVersion::kLast
             ? name
             : name.substr(0, slash) + kAverageSuffix + name.substr(slash);
}

void load_values(gan::Network& network, checkpoint::StoredState& state, WeightVersion weights,
                 const std::string& where) {
  std::vector<std::byte> bytes;
  const auto load = [&](const std::string& name, at::Tensor& target) {
    const checkpoint::StoredTensor& stored = state.require(stored_name(name, weights));
    bytes.resize(static_cast<std::size_t>(stored.num_bytes()));
    state.read_row_major(stored, bytes);
    load_tensor({.name = stored.name, .type = stored.type, .shape = stored.shape, .bytes = bytes},
                target, where);
  };
  for (const gan::Network::NamedParameter& named : network.parameters()) {
    load(named.name, named.parameter->tensor);
  }
  for (const gan::Network::NamedStatistic& named : network.statistics()) {
    load(named.name, named.statistic->running);
  }
}

/// @param choice  nullopt: all networks if the job has its own step, which calls them; else the
/// shown network
TrainedJob load_networks(const fs::path& checkpoint, const std::optional<NetworkChoice>& choice) {
  checkpoint::StoredState state(checkpoint);
  // Uses the checkpoint's copy of the job: the weights belong to that model, even if job.yaml has
  // changed.
  const checkpoint::Manifest& manifest = state.manifest();
  const fs::path run =
      fs::absolute(checkpoint / "../.." / kJobFile).lexically_normal().parent_path();
  JobSpec job = parse_job(manifest.job_yaml, checkpoint.string() + " (job)", run,
                          checkpoint / checkpoint::kManifestName);
  use_kept_modules(job, run);
  Execution alone = job.layout;
  alone.timeout_seconds = 0.0;  // no worker waits for its calls, and an import may be slow
  python::open_python(job, alone);
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  const NetworkId chosen = job.chosen(choice ? choice->network : "");
  PerNetwork<WeightVersion> weights;
  for (const NetworkId id : networks.ids()) {
    gan::Network& network = networks[id];
    const std::string first = network.parameters().front().name;
    const bool has_average = state.find(stored_name(first, WeightVersion::kAverage)) != nullptr;
    weights.add(has_average && (!choice || choice->weights == WeightVersion::kAverage)
                    ? WeightVersion::kAverage
                    : WeightVersion::kLast);
    if (id == chosen || (!choice && job.training.step.is_python())) {
      load_values(network, state, weights[id], checkpoint.string());
      network.grow_to(job.growth_level(manifest.images));
    }
  }
  return {{.directory = run,
           .job = std::move(job),
           .job_yaml = manifest.job_yaml,
           .checkpoint_id = manifest.checkpoint_id,
           .step = manifest.step,
           .images = manifest.images},
          std::move(weights),
          std::move(networks)};
}

TrainedRun with_network(TrainedJob trained, NetworkId id) {
  return {static_cast<TrainedState&&>(trained), trained.weights[id],
          std::move(trained.networks[id])};
}

}  // namespace

void load_tensor(const checkpoint::TensorRecord& record, at::Tensor& target,
                 const std::string& where) {
  const at::IntArrayRef wanted = target.sizes();
  if (record.type != checkpoint::ElementType::kF32 || at::IntArrayRef(record.shape) != wanted) {
    throw CheckpointError(fmt::format(
        "{}: tensor '{}' is {} [{}], the model wants F32 [{}]; was it saved by another model?",
        where, record.name, checkpoint::type_name(record.type), fmt::join(record.shape, ", "),
        fmt::join(wanted.begin(), wanted.end(), ", ")));
  }
  const at::NoGradGuard no_grad;
  const at::Tensor values = at::empty(wanted, at::kFloat);
  std::memcpy(values.mutable_data_ptr<float>(), record.bytes.data(), record.bytes.size());
  target.copy_(values);
}

std::optional<fs::path> try_find_directory(const RunChoice& choice) {
  std::error_code failure;
  return fs::is_regular_file(fs::path(choice.run) / kJobFile, failure)
             ? std::optional(fs::path(choice.run))
             : find_run(choice.outdir, choice.run);
}

TrainedRun load_network(const fs::path& checkpoint, const NetworkChoice& choice) {
  TrainedJob trained = load_networks(checkpoint, choice);
  const NetworkId id = trained.job.chosen(choice.network);
  return with_network(std::move(trained), id);
}

TrainedRun open_network(const RunChoice& run, const NetworkChoice& choice) {
  const fs::path directory = find_directory(run);
  TrainedRun trained =
      load_network(choose_checkpoint(directory / kCheckpointsFolder, run.step), choice);
  trained.directory = directory;
  return trained;
}

TrainedJob open_trained_job(const RunChoice& choice) {
  const fs::path directory = find_directory(choice);
  TrainedJob trained =
      load_networks(choose_checkpoint(directory / kCheckpointsFolder, choice.step), std::nullopt);
  trained.directory = directory;
  if (choice.device == DeviceKind::kCuda) {
    if (trained.job.training.step.is_python()) {
      throw ConfigError(
          "--device cuda: the job's own step shows and scores with tensors on the CPU; leave it "
          "out");
    }
    place_on(at::kCUDA, trained.networks[trained.job.shown_network()]);
  }
  return trained;
}

void place_on(at::Device device, gan::Network& network) {
  const at::NoGradGuard no_grad;
  for (const gan::Network::NamedParameter& named : network.parameters()) {
    named.parameter->tensor.set_data(named.parameter->tensor.to(device));
  }
  for (const gan::Network::NamedStatistic& named : network.statistics()) {
    named.statistic->running.set_data(named.statistic->running.to(device));
  }
}

bool makes_samples(TrainedJob& trained) {
  const OwnStepFacts& own = trained.job.training.own;
  gan::Network& shown = trained.networks[trained.job.shown_network()];
  if (!own.shows) {
    return true;
  }
  if (own.takes.contains(shown.name())) {
    return false;
  }
  const std::vector<std::uint64_t> seeds{0, 1};
  std::vector<std::int64_t> wanted = example_shape(trained.job.model);
  wanted.insert(wanted.begin(), static_cast<std::int64_t>(seeds.size()));
  return gan::generate_for_seeds(shown, trained.job.model, seeds).sizes() ==
         at::IntArrayRef(wanted);
}

TrainedRun samples_of(TrainedJob trained) {
  if (const Recipe& recipe = *trained.job.training.recipe; !recipe.has_samples()) {
    throw ConfigError(fmt::format(
        "{}: recipe {} makes its pictures of other pictures, so there are no samples and no scores "
        "of them; see the run's fakes*.png, or `gangway checkpoints export` its {}",
        trained.directory.string(), recipe.name, recipe.shown));
  }
  if (!makes_samples(trained)) {
    throw ConfigError(fmt::format(
        "{}: its {} makes no pictures of noise, but show() of the job's step makes some, so there "
        "is no score of samples; give the step a score() (docs/own-step.md)",
        trained.directory.string(), trained.job.training.recipe->shown));
  }
  const NetworkId id = trained.job.shown_network();
  return with_network(std::move(trained), id);
}

}  // namespace gangway::launch
