// SPDX-License-Identifier: MIT
#include "launch/commands.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/suggestion.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/digest.hpp"
#include "launch/bench/bench_commands.hpp"
#include "launch/checkpoints/checkpoint_commands.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/doctor.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/run/run_job.hpp"
#include "launch/run/train.hpp"

namespace gangway::launch {
namespace {

/// Everything that options are written to; one command uses a few of them.
struct CommandLine {
  RunOptions run;
  RunOptions train;
  BenchOptions bench;
  CheckpointOptions checkpoints;
  SnapshotOptions snapshots;
  std::string start_deadline;
  std::string train_device;  ///< what `gangway run` has read in the job
  std::string reference;
  std::filesystem::path marker;  ///< of check-host
  std::string marker_content;
  std::filesystem::path outdir = "runs";
  bool json = false;
};

constexpr const char* kOverridesHelp =
    "Keys of the job file, as training.kimg=80 (docs/job-file.md)";

constexpr const char* kTraceHelp =
    "Steps to trace, as 100:110: leaves trace/trace.json in the run directory (docs/tracing.md)";

void add_resume(CLI::App& command, std::string& resume) {
  command
      .add_option(
          "--resume", resume,
          "auto: go on where there is a checkpoint; never; must; or a checkpoint's or run's path")
      ->capture_default_str()
      ->take_last();
}

CLI::App* add_run(CLI::App& app, CommandLine& line) {
  CLI::App* run = app.add_subcommand(
      "run", "Train a job: builds the mpirun command, runs it, and reports how it ended");
  run->add_option("job", line.run.job_file, "Job file")->required()->type_name("JOB.yaml");
  run->add_option("overrides", line.run.overrides, kOverridesHelp)->type_name("key=value");
  run->add_option("-n,--workers", line.run.workers,
                  "Workers; default: layout.data, else as many as cores and micro-batches allow")
      ->check(CLI::PositiveNumber);
  run->add_option("--outdir", line.run.outdir, "Folder of the runs")->capture_default_str();
  run->add_option("--run", line.run.run_name,
                  "Name of the run; given again, the run goes on. Default: the job file's name")
      ->take_last();
  add_resume(*run, line.run.resume);
  run->add_option("--hostfile", line.run.hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  run->add_option("--lifeline-port", line.run.lifeline_port,
                  "TCP port on which workers keep in touch, and the next one on which all ranks do "
                  "with this command; default: any free ones");
  run->add_option("--trace", line.run.trace, kTraceHelp)->type_name("FIRST:END");
  run->add_option("--progress", line.run.progress,
                  "auto: a progress bar on a terminal only; lines; bar")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "lines", "bar"}));
  run->add_flag("--dry-run", line.run.dry_run,
                "Print the resolved job, the placement and the memory needed, and end");
  run->footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml\n"
      "  gangway run examples/fashion-mnist.yaml -n 2 --run first training.kimg=80\n"
      "  gangway run examples/infogan.yaml --dry-run\n"
      "The same command again goes on from the newest checkpoint.\n"
      "Exit codes: 0 done, 2 usage or job, 3 worker lost, 4 diverged, 5 checkpoint unusable, 6 "
      "environment,\n"
      "75 stopped on request and saved (SIGINT, SIGTERM, SIGUSR1), 130/143 stopped without a save. "
      "SIGUSR2 saves and goes on.");
  return run;
}

CLI::App* add_train(CLI::App& app, CommandLine& line) {
  CLI::App* train = app.add_subcommand(
      "train", "What every rank under mpirun or srun runs: one coordinator, the others workers");
  train->add_option("job", line.train.job_file, "Job file")->required()->type_name("JOB.yaml");
  train->add_option("overrides", line.train.overrides, kOverridesHelp)->type_name("key=value");
  train->add_option("--outdir", line.train.outdir, "Folder of the runs")->capture_default_str();
  train->add_option("--run", line.train.run_name, "Name of the run. Default: the job file's name");
  add_resume(*train, line.train.resume);
  train->add_option("--lifeline-port", line.train.lifeline_port,
                    "TCP port on which workers keep in touch");
  train->add_option("--trace", line.train.trace, kTraceHelp)->type_name("FIRST:END");
  train->add_option("--start-deadline", line.start_deadline,
                    "Seconds until the last worker must be ready");
  train->add_option("--device", line.train_device)->group("");
  // Between `gangway run` and the coordinator.
  for (const char* name : {"--run-directory", "--command", "--resume-command", "--bar-columns"}) {
    train->add_option(name)->group("");
  }
  train->footer(
      "Example:\n  mpirun -n 3 gangway train examples/fashion-mnist.yaml      one coordinator, two "
      "workers");
  return train;
}

CLI::App* add_about_run(CLI::App& app, CommandLine& line, const std::string& name,
                        const std::string& help) {
  CLI::App* command = app.add_subcommand(name, help);
  command
      ->add_option("run", line.reference,
                   "Directory or name of a run; with @STEP one of its checkpoints")
      ->required()
      ->type_name("RUN[@STEP]");
  command->add_option("--outdir", line.outdir, "Folder of the runs")->capture_default_str();
  return command;
}

void add_commands(CLI::App& app, CommandLine& line) {
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("gangway ") + GANGWAY_VERSION);
  add_run(app, line);
  add_train(app, line);
  add_about_run(app, line, "digest",
                "Hash of a trained state: equal for equal jobs, whatever the layout")
      ->footer(
          "Examples:\n  gangway digest fashion-mnist\n  gangway digest "
          "runs/00000-fashion-mnist@1563");
  add_checkpoint_commands(app, line.checkpoints);
  add_snapshot_commands(app, line.snapshots);
  app.add_subcommand("sample", "Draw pictures from a trained generator")
      ->footer("gangway sample --help says more");
  app.add_subcommand("evaluate", "Score a trained generator")
      ->footer("gangway evaluate --help says more");
  add_bench(app, line.bench);
  // Between `gangway run` and the other hosts.
  CLI::App* check = app.add_subcommand("check-host")->group("");
  check->add_option("marker", line.marker)->required();
  check->add_option("content", line.marker_content)->required();
  CLI::App* doctor = app.add_subcommand("doctor", "What this machine has and lacks");
  doctor->add_flag("--json", line.json, "Print JSON");
  app.footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml -n 2        train, or go on\n"
      "  gangway digest fashion-mnist                        compare two trained states\n"
      "  gangway sample fashion-mnist --seeds 0-63 -o grid.png\n"
      "Every command has --help.");
}

/// CLI11 would only say that a subcommand is missing.
void require_known_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const auto nearest = nearest_word(name, known);
    throw ConfigError(fmt::format("no command '{}'{}: see 'gangway --help'", name,
                                  nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
  }
}

int digest(const CommandLine& line) {
  const RunReference reference = parse_run_reference(line.reference);
  const auto run = find_run_directory(reference, line.outdir);
  std::cout << checkpoint::read_chosen([&] { return find_checkpoint(run, reference); },
                                       checkpoint::digest)
            << std::endl;
  return 0;
}

int diagnose(const CommandLine& line, const Environment& environment) {
  const auto findings = examine(environment);
  std::cout << (line.json ? findings_json(findings) : findings_text(findings)) << std::flush;
  return is_healthy(findings) ? 0 : static_cast<int>(ExitCode::kEnvironment);
}

std::vector<std::string> after(const std::vector<std::string>& arguments, std::ptrdiff_t count) {
  return {arguments.begin() + count, arguments.end()};
}

int carry_out(const CLI::App& app, const CommandLine& line,
              const std::vector<std::string>& arguments, const Environment& environment) {
  const CLI::App* command = app.get_subcommands().front();
  const std::string name = command->get_name();
  if (name == "run") {
    return run_job(line.run, environment, arguments);
  }
  if (name == "train") {
    train(environment, after(arguments, 2),
          {line.train_device, line.train.job_file, line.train.overrides});
  }
  if (name == "bench") {
    return run_bench(*command, line.bench, environment);
  }
  if (name == "check-host") {
    check_host(line.marker, line.marker_content);
    return 0;
  }
  if (name == "digest") {
    return digest(line);
  }
  if (name == "checkpoints") {
    return run_checkpoint_command(command->get_subcommands().front()->get_name(), line.checkpoints);
  }
  if (name == "snapshots") {
    return run_snapshot_command(command->get_subcommands().front()->get_name(), line.snapshots);
  }
  return diagnose(line, environment);
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::string first = arguments.size() > 1 ? arguments[1] : std::string();
  if (first == "sample" || first == "evaluate") {
    become("gangway-model", after(arguments, 1));  // has its own help
  }
  CommandLine line;
  CLI::App app(
      "Gangway trains GANs on many workers; the job decides the numbers, the layout only the "
      "speed.",
      "gangway");
  add_commands(app, line);
  if (!first.empty() && first.front() != '-') {
    require_known_command(app, first);
  }
  std::vector<std::string> reversed(
      arguments.rbegin(), arguments.rend() - (arguments.empty() ? 0 : 1));  // as CLI11 wants it
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format(
        "{}: see 'gangway {}--help'", error.what(),
        app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " "));
  }
  return carry_out(app, line, arguments, environment);
}

}  // namespace gangway::launch
