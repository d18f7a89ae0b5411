// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system/usable_cores.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/state_index.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/positive_number.hpp"
#include "launch/run/job_hosts.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// @param place  job file, or checkpoint folder, whose manifest holds the job that saved it
/// @throws CheckpointError if the manifest is damaged
JobSources sources_at(const fs::path& place) {
  const fs::path manifest = fs::absolute(place / checkpoint::kManifestName);
  std::error_code ignored;
  if (!fs::is_regular_file(manifest, ignored)) {
    return {.file = place};
  }
  const fs::path folder = manifest.parent_path();
  const fs::path run = folder.parent_path().parent_path();
  return {.file = run / folder.filename(),  // the job's own files are in that folder
          .text = checkpoint::read_manifest(folder).job_yaml,
          .run = run,
          .origin = manifest,
          .may_name_hosts = true,
          .is_stored = true};
}

/// Returns the size of the job's checkpoints, which is the same for every layout.
std::int64_t checkpoint_bytes(JobSpec spec) {
  spec.layout = LayoutChoice::of(*spec.training.recipe);
  const MemoryEstimate memory = estimate_memory(spec, 1);
  return memory.weights_bytes + memory.optimizer_bytes;
}

/// @throws ConfigError if the job cannot have so many workers
nlohmann::ordered_json memory_of(const JobSpec& spec, int workers) {
  require_workers(spec, workers);
  const MemoryEstimate memory = estimate_memory(spec, workers);
  return {{"weights", memory.weights_bytes},
          {"gradients", memory.gradients_bytes},
          {"optimizer", memory.optimizer_bytes},
          {"total", memory.total_bytes()}};
}

/// Lists each network's ranks and their micro-batches [begin, end).
nlohmann::ordered_json layout_of(const JobSpec& spec, int workers) {
  const Layout layout = resolve_layout(spec, workers);
  nlohmann::ordered_json document;
  for (const NetworkId network : layout.ids()) {
    const NetworkGroup& group = layout[network];
    nlohmann::ordered_json ranges = nlohmann::ordered_json::array();
    for (const MicrobatchRange range : group.ranges) {
      ranges.push_back({range.begin, range.end});
    }
    std::vector<int> ranks = group.workers;
    std::ranges::for_each(ranks, [](int& rank) { ++rank; });
    document[spec.networks[network].name] = {
        {"ranks", ranks}, {"microbatches", ranges}, {"chunks", group.num_chunks()}};
  }
  return document;
}

/// @param overrides  as typed, and as derived from the data and the host
nlohmann::ordered_json told(const ResolvedJob& job, const std::vector<std::string>& overrides,
                            int workers) {
  nlohmann::ordered_json networks = nlohmann::ordered_json::array();
  for (const NetworkSpec& network : job.spec.networks) {
    networks.push_back({{"name", network.name}, {"frozen", network.is_frozen}});
  }
  nlohmann::ordered_json document{
      {"name", job.name},
      {"job", to_yaml(job.spec)},
      {"overrides", overrides},
      {"images_per_step", job.spec.images_per_step()},
      {"steps", job.spec.total_steps()},
      {"inputs", job.spec.model.inputs()},
      {"burn_in_images", job.spec.ends_burn_in() ? job.spec.burn_in_images() : 0.0},
      {"networks", std::move(networks)},
      // The default of `gangway run` without -n, on this host.
      {"workers", default_workers(job.spec, usable_cores())},
      {"places_networks", job.spec.layout.places_networks()},
      {"fingerprint", job_fingerprint(job.spec)},
      {"notes", job.notes}};
  if (workers > 0) {
    document["memory"] = memory_of(job.spec, workers);
    document["layout"] = layout_of(job.spec, workers);
    document["checkpoint_bytes"] = checkpoint_bytes(job.spec);
  }
  return document;
}

}  // namespace

void add_job_command(CLI::App& app, CommandLine& line) {
  struct JobOptions {
    std::string job;
    std::vector<std::string> overrides;
    int workers = 0;
    bool json = false;
    bool is_edited = false;
  };
  const auto options = std::make_shared<JobOptions>();
  CLI::App* command =
      app.add_subcommand("job", "Print a job as it is resolved: every key that applies");
  command->add_option("job", options->job, "Job file, or folder of a checkpoint")
      ->required()
      ->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command
      ->add_option("-n,--workers", options->workers, "Workers, whose memory --json gives, in bytes")
      ->check(kPositiveNumber);
  command->add_flag("--json", options->json, "JSON: the job, and values derived from it");
  command->add_flag("--stdin", options->is_edited)->group("");  // `gangway tune` passes a text
  command->footer("Example: gangway job examples/ring8.yaml training.batch=64");
  command->callback([options, &line] {
    line.action = [options, &line] {
      JobSources sources = sources_at(options->job);
      if (options->is_edited) {
        sources.text = std::string(std::istreambuf_iterator<char>(std::cin), {});
        sources.run = fs::absolute(options->job).parent_path();
      }
      sources.overrides = options->overrides;
      sources.environment = gangway_variables(line.environment);
      const ResolvedJob job = load_followed(sources);
      std::ranges::copy(job.filled_in, std::back_inserter(sources.overrides));
      std::cout << (options->json ? told(job, sources.overrides, options->workers).dump() + "\n"
                                  : to_yaml(job.spec))
                << std::flush;
      return 0;
    };
  });
}

}  // namespace gangway::launch
