// SPDX-License-Identifier: MIT
#include "launch/init/init_command.hpp"

#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "job/run_name.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/init/init_job.hpp"
#include "launch/init/manifests.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/positive_number.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxJobFileBytes = std::size_t{1} << 20U;

struct InitOptions {
  fs::path job_file;
  std::vector<std::string> overrides;
  std::string run_name;
  fs::path outdir = "runs";
  int workers = 0;
  int nodes = 1;
  int gpus_per_node = 0;
  int grace = 120;
  std::string time;
  std::string image = "gangway";
  fs::path output;
  bool force = false;
};

/// One of the places for which there is a text.
struct InitKind {
  const char* name;
  const char* help;
  std::string (*write)(const Manifest&);
  fs::path (*default_file)(const std::string& name);
  const char* next;  ///< what to do with the file, which follows these words
  const char* rest = "";
};

constexpr std::array kInitKinds{
    InitKind{"slurm", "A script for sbatch, which saves and goes back into the queue when told to",
             slurm_script, [](const std::string& name) { return fs::path(name).concat(".sbatch"); },
             "sbatch"},
    InitKind{
        "k8s", "An MPIJob for Kubernetes, with the job file and a volume for the run",
        kubernetes_job,
        [](const std::string& name) { return fs::path(kubernetes_name(name)).concat(".yaml"); },
        "kubectl apply -f"},
    InitKind{"docker", "A file from which a container is built, with programs for the job's device",
             container_file, [](const std::string&) { return fs::path("Dockerfile"); },
             "docker build -t gangway -f", " CHECKOUT, the folder of Gangway's sources"},
};

/// Workers where none were named: the layout's, else one a GPU, else one a node.
int workers_for(const InitOptions& options, const JobSpec& spec) {
  if (options.workers > 0) {
    return options.workers;
  }
  return spec.layout.data > 0 ? spec.layout.data
                              : options.nodes * std::max(1, options.gpus_per_node);
}

int write_manifest(const InitKind& kind, const InitOptions& options, const CommandLine& line) {
  const JobSources sources = with_data({.file = options.job_file,
                                        .text = std::nullopt,
                                        .overrides = options.overrides,
                                        .environment = gangway_variables(line.environment)});
  const ResolvedJob job = load_job(sources);
  Manifest manifest{
      .spec = job.spec,
      .name = options.run_name.empty() ? job.name : options.run_name,
      .job_file = fs::absolute(options.job_file).lexically_normal(),
      .job_text = read_small_file(options.job_file, kMaxJobFileBytes).value_or(job.yaml),
      .overrides = sources.overrides,
      .workers = workers_for(options, job.spec),
      .nodes = options.nodes,
      .gpus_per_node = options.gpus_per_node,
      .time = options.time.empty() ? std::nullopt : std::optional(parse_time_limit(options.time)),
      .grace = std::chrono::seconds(options.grace),
      .image = options.image,
      .gangway = program_folder() / "gangway",
      .outdir = fs::absolute(options.outdir).lexically_normal(),
      .folder = fs::current_path(),
      .command = shell_line(line.typed),
      .file = {}};
  require_run_name(manifest.name);
  manifest.file = options.output.empty() ? kind.default_file(manifest.name) : options.output;
  require_places(manifest);
  const std::string text = kind.write(manifest);
  if (options.output == "-") {
    std::cout << text << std::flush;
    return 0;
  }
  if (!options.force && fs::exists(manifest.file)) {
    throw ConfigError(
        fmt::format("{} is there already: --force writes over it, --output names "
                    "another file",
                    manifest.file.string()));
  }
  write_file_atomically(manifest.file, text);
  std::cout << fmt::format("{}: look it over, then: {} {}{}\n", manifest.file.string(), kind.next,
                           shell_line({manifest.file.string()}), kind.rest);
  if (const std::size_t todo = text.find("# TODO: "); todo != std::string::npos) {
    std::cout << "note   " << text.substr(todo + 2, text.find('\n', todo) - todo - 2) << '\n';
  }
  return 0;
}

void add_kind(CLI::App& init, const InitKind& kind, CommandLine& line) {
  const auto options = std::make_shared<InitOptions>();
  CLI::App* command = init.add_subcommand(kind.name, kind.help);
  command->add_option("job", options->job_file, "Job file")->required()->type_name("JOB.yaml");
  command
      ->add_option("overrides", options->overrides,
                   "Keys of the job file, as training.kimg=80 (docs/job-file.md)")
      ->type_name("key=value");
  command
      ->add_option("-n,--workers", options->workers,
                   "Workers; default: layout.data, else one a GPU, else one a node")
      ->check(kPositiveNumber);
  command->add_option("--nodes", options->nodes, "Machines to ask for")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--gpus-per-node", options->gpus_per_node, "GPUs of each of them")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--time", options->time, "Limit: minutes, 12:00:00 or 2-12:00:00");
  command
      ->add_option("--grace", options->grace,
                   "Seconds for a save between the scheduler's warning and the end")
      ->capture_default_str()
      ->check(CLI::Range(5, 3600));
  command->add_option("--image", options->image, "Name of the container")->capture_default_str();
  command->add_option("--run", options->run_name, "Name of the run. Default: the job file's name");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->add_option("-o,--output", options->output,
                      "File to write; '-': standard output. Default: after the run, or Dockerfile");
  command->add_flag("--force", options->force, "Write over a file that is there");
  command->callback([&kind, options, &line] {
    line.action = [&kind, options, &line] { return write_manifest(kind, *options, line); };
  });
}

}  // namespace

void add_init_command(CLI::App& app, CommandLine& line) {
  CLI::App* init = app.add_subcommand(
      "init",
      "Write a job for a set of pictures, or what Slurm, Kubernetes or a builder of containers "
      "needs for a job");
  init->require_subcommand(1);
  add_init_job(*init, line);
  for (const InitKind& kind : kInitKinds) {
    add_kind(*init, kind, line);
  }
  init->footer(
      "Examples:\n"
      "  gangway init job photos.zip --minutes 30 -o photos.yaml\n"
      "  gangway init slurm examples/fashion-mnist.yaml -n 4 --time 12:00:00\n"
      "  gangway init k8s job.yaml --nodes 2 --gpus-per-node 8 --image registry/gangway:1\n"
      "  gangway init docker job.yaml -o Dockerfile");
}

}  // namespace gangway::launch
