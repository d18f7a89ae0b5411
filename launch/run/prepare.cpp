// SPDX-License-Identifier: MIT
#include "launch/run/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/weights_file.hpp"
#include "job/devices/settle_device.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/rules/rules.hpp"
#include "job/run_name.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/data/require_data.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/gpus.hpp"
#include "launch/run/own_networks.hpp"
#include "plan/ranking/make_plan.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"
#include "run/trace_steps.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Returns the sources of the job's keys; its layout may name hosts.
JobSources sources_of(const RunOptions& options, const Environment& environment) {
  return {.file = options.job_file,
          .overrides = options.overrides,
          .environment = gangway_variables(environment),
          .may_name_hosts = true};
}

void say(const std::string& line) {
  if (!line.empty()) {
    std::cout << line << std::endl;
  }
}

/// Returns the smallest number of GPUs on the workers' hosts; a host that does not answer has 0.
int fewest_gpus(const fs::path& hostfile, const Environment& environment) {
  if (hostfile.empty()) {
    return usable_gpus();
  }
  let_root_use_mpirun();
  constexpr std::chrono::seconds kLimit{20};
  const MpirunRequest request{.program = program_folder() / "gangway",
                              .exported_variables = exported_variables(environment)};
  int fewest = std::numeric_limits<int>::max();
  for (const ChildOutput& output :
       run_on_each(request, read_hostfile(hostfile), {"count-gpus"}, kLimit)) {
    fewest = std::min(fewest, gpus_in(output.text));
  }
  return fewest;
}

/// Returns the user's Python environment: $VIRTUAL_ENV, or .venv beside the job file, so that all
/// workers and later commands use the same one. Empty: neither exists.
std::string found_python(const fs::path& job_file, const Environment& environment) {
  if (const auto active = find_variable(environment, "VIRTUAL_ENV"); active && !active->empty()) {
    return *active;
  }
  const fs::path beside = fs::absolute(job_file).parent_path() / ".venv";
  return fs::exists(beside / "bin/python") ? beside.string() : std::string();
}

/// @param unseen_data  receives the reason why workers on other hosts cannot begin
ResolvedJob read_job(const RunOptions& asked, const Environment& environment,
                     std::string& unseen_data) {
  FollowedData followed;
  ResolvedJob job = load_job(sources_of(asked, environment), [&](const OpenKeys& open) {
    if (open.device || open.channels || open.classes) {  // else the run's job need not be read
      followed = follow_data(open, job_before(asked),
                             [&] { return fewest_gpus(asked.hostfile, environment); });
    }
    std::vector<std::string> words = followed.overrides;
    if (const std::string python = open.python ? found_python(asked.job_file, environment) : "";
        !python.empty()) {
      words.push_back("layout.python=" + python);
    }
    return words;
  });
  for (const std::string& note : {followed.device, followed.note}) {
    say(note.empty() ? note : "note   " + note);
  }
  unseen_data = std::move(followed.unseen);
  return job;
}

/// Finds the profile for `layout.plan: auto`; nullopt, and a printed reason, if none fits.
std::optional<fs::path> found_profile(const JobSpec& job, const fs::path& job_file) {
  std::string why = fmt::format("there is no {}; `gangway profile {}` makes one",
                                plan::default_profile_file(job_file).string(), job_file.string());
  if (const auto file = plan::find_profile(job_file)) {
    try {
      plan::require_fitting(plan::read_profile(*file), file->string(), job);
      return file;
    } catch (const ConfigError& error) {
      why = error.what();
    }
  }
  say("plan: none, every worker has all networks: " + why);
  return std::nullopt;
}

/// Gives `prepared` the best layout by the profile that was typed or that the job names. Keys of
/// the command line keep their values.
/// @return its number of workers; 0: no plan was requested, or none fits
int take_plan(const RunOptions& asked, Prepared& prepared) {
  JobSpec& job = prepared.job;
  const std::string profile = asked.profile.empty() ? job.layout.plan : asked.profile;
  if (profile.empty()) {
    return 0;
  }
  if (!asked.hostfile.empty()) {
    throw ConfigError(
        "--plan, layout.plan: a profile describes one machine only; with --hostfile give the "
        "layout that `gangway plan --cluster` prints");
  }
  if (job.layout.places_networks() || !prepared.read.named_hosts.empty()) {
    throw ConfigError(
        "--plan, layout.plan: the job itself places networks on workers; leave layout.stages, "
        "layout.cuts and the workers of networks out, or the plan");
  }
  job.layout.plan.clear();  // the layout now contains the plan's result
  const std::optional<fs::path> file =
      profile == "auto" ? found_profile(job, asked.job_file) : profile;
  if (!file) {
    return 0;
  }
  const plan::Candidate first =
      plan::first_layout(job, *file, asked.workers > 0 ? asked.workers : job.layout.data);
  say("plan: " + describe(first));
  job = with_keys_of(with_layout(job, first), job, prepared.read.typed);
  job.layout.plan.clear();
  if (const std::string complaint = broken_rule(job); !complaint.empty()) {
    throw ConfigError(complaint);
  }
  return first.workers;
}

/// Rejects a trace of GPU kernels for a job on CPUs, before a run is made.
void require_traceable(const std::string& trace, const JobSpec& job) {
  if (parse_trace_steps(trace).detail.kernels && job.numerics.device == DeviceKind::kCpu) {
    throw ConfigError(fmt::format(
        "--trace {}: the job computes on CPUs, and only GPUs have kernels: leave 'kernels' out",
        trace));
  }
}

/// Makes the changes of fit_to_memory, and prints them; if none fits, prints that. An estimate may
/// be too high, so it refuses no job. @pre the workers are on this host
void fit_memory(const RunOptions& asked, const Environment& environment, Prepared& prepared) {
  JobSpec& job = prepared.job;
  prepared.fit = {.job_file = asked.job_file,
                  .memory = known_memory(job.numerics.device, prepared.device, environment),
                  .given = prepared.read.given,
                  .typed_workers = asked.workers,
                  .is_asked = asked.fit};
  if (job.layout.cuda_graph == GraphChoice::kAuto) {
    prepared.fit.given.erase("numerics.cuda_graph");
  }
  const JobSpec settled = settled_job(asked, prepared);
  const FitAnswer answer = fit_to_memory(settled, prepared.where.workers, prepared.fit);
  if (!answer.found) {
    say(answer.line.empty() ? "" : "warn  " + answer.line);
    return;
  }
  say("warn  " + answer.line);
  std::set<std::string> paths;
  prepared.fit.changes = changed_keys(settled, answer.found->job);
  for (const std::string& key : prepared.fit.changes) {
    paths.insert(key.substr(0, key.find('=')));
  }
  job = with_keys_of(job, answer.found->job, paths);
  prepared.where.workers = answer.found->workers;
}

}  // namespace

void require_initial_weights(const JobSpec& spec) {
  const PerNetwork<Architecture> networks = spec.architectures();
  for (const NetworkId id : networks.ids()) {
    const NetworkSpec& network = spec.networks[id];
    if (!network.weights.empty()) {
      const checkpoint::InitialWeights weights(network.name + ".weights", network.weights);
      if (python_in(networks[id]) == nullptr) {  // only LibTorch knows its parameters
        weights.require_parameters(num_parameters(networks[id]), statistic_names(networks[id]));
      }
      weights.require_finite();
    }
  }
}

std::optional<JobSpec> job_before(const RunOptions& options) {
  const auto run = find_run(options.outdir, options.name_or(run_name_of(options.job_file)));
  return run && options.resume != "never" ? job_in(*run / kJobFile) : std::nullopt;
}

JobSpec settled_job(const RunOptions& asked, const Prepared& prepared,
                    std::vector<std::string>* lines) {
  JobSpec job = prepared.job;
  std::vector<std::string> said;
  if (has_open_numbers(job)) {  // else the run's job need not be read
    said = settle_numbers(job, job_before(asked), prepared.device);
  }
  std::ranges::move(settle_layout(job, prepared.where.workers, prepared.device),
                    std::back_inserter(said));
  if (lines != nullptr) {
    *lines = std::move(said);
  }
  return job;
}

ResolvedJob read_again(const RunOptions& asked, const ResolvedJob& before,
                       const Environment& environment) {
  return load_job(sources_of(asked, environment),
                  [&](const OpenKeys& /*open*/) { return before.filled_in; });
}

Prepared prepare(const RunOptions& asked, const Environment& environment) {
  std::string unseen_data;
  Prepared prepared{.read = read_job(asked, environment, unseen_data), .job = {}, .where = {}};
  JobSpec& job = prepared.job = prepared.read.spec;
  require_traceable(asked.trace, job);
  const int planned = take_plan(asked, prepared);
  prepared.where =
      choose_hosts(asked.hostfile, planned > 0 ? planned : asked.workers, job, environment);
  place_on_hosts(job, prepared.read.named_hosts, hosts_of(prepared.where));
  say(prepared.where.found);
  require_workers(job, prepared.where.workers);
  const bool has_data_here = prepared.where.hosts.empty();  // other hosts may have other data
  if (has_data_here && !files_of_own_networks(job).empty()) {
    require_source(job);  // Python takes most of a minute to try the networks
  }
  inspect_own_networks(job);
  prepared.device = facts_of_device(job.numerics.device);
  if (prepared.where.hosts.empty()) {
    fit_memory(asked, environment, prepared);
  }
  require_style_picture(job);
  if (has_data_here) {
    DataFacts facts = require_data(job, environment, say);
    std::ranges::for_each(facts.notes, [](const std::string& note) { say("note   " + note); });
    prepared.data = std::move(facts.what);
  } else if (!unseen_data.empty()) {
    throw ConfigError(unseen_data);
  }
  return prepared;
}

}  // namespace gangway::launch
