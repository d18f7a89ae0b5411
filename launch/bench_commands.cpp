// SPDX-License-Identifier: MIT
#include "launch/bench_commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/command/bench_allreduce.hpp"
#include "bench/command/bench_checkpoint.hpp"
#include "bench/command/bench_overlap.hpp"
#include "bench/command/bench_recovery.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/positive_number.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/tune/bench_job.hpp"
#include "launch/tune/bench_node.hpp"

namespace gangway::launch {
namespace {

void add_allreduce(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<bench::AllreduceOptions>();
  CLI::App* command = bench.add_subcommand(
      "allreduce", "Every transport's all-reduce beside MPI_Allreduce and what the machine allows");
  command->add_option("-n,--workers", options->workers, "Workers; several for several tables")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(2, 64));
  command->add_option("--hostfile", options->hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  command->add_option("--sizes", options->sizes, "Sizes, multiples of 16K")->capture_default_str();
  command->add_option("--transports", options->transports,
                      "shm, mpi, hierarchical; default: all that fit the hosts");
  command->add_option("--line-rate", options->line_rate,
                      "Rate of a host's link, as 1gbit, for the floor between hosts");
  command->add_option("--buckets", options->buckets, "Buckets that a block is cut into")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--rounds", options->rounds, "Rounds in which each row has its turn")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command
      ->add_option("--seconds", options->seconds, "Seconds for a row at one size, over all rounds")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command
      ->add_option("--sleep", options->sleep_microseconds,
                   "Microseconds that a worker sleeps between polls, as a lane does that owns no "
                   "core; 0: polls")
      ->capture_default_str()
      ->check(CLI::Range(0, 10'000));
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->add_option("--corrupt-round", options->corrupt_round)->group("");
  command->footer(
      "Examples:\n"
      "  gangway bench allreduce\n"
      "  gangway bench allreduce -n 4 --sizes 1M,64M\n"
      "  gangway bench allreduce -n 2 --hostfile hosts --line-rate 1gbit\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options, &line] { return bench::bench_allreduce(*options, line.environment); };
  });
}

void add_overlap(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<bench::OverlapOptions>();
  CLI::App* command = bench.add_subcommand(
      "overlap", "Steps of a job with its communication exposed, and hidden in each way");
  command->add_option("overrides", options->overrides, "Keys of the job file, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--job", options->job, "Job file; it is run for --steps only")
      ->capture_default_str();
  command->add_option("-n,--workers", options->workers, "Workers")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--hostfile", options->hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  command->add_option("--outdir", options->outdir,
                      "Folder that keeps the runs, on several hosts one that all see; default: a "
                      "temporary one");
  command->add_option("--modes", options->modes, "layout.overlap")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "within", "across"}));
  command->add_option("--transport", options->transports, "layout.transport")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--line-rate", options->line_rate,
                      "Rate of a host's link, as 1gbit, for the bound");
  command->add_option("--rounds", options->rounds, "Rounds in which each way has its turn")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--steps", options->steps, "Steps of a run; the first quarter does not count")
      ->capture_default_str()
      ->check(CLI::Range(8, 1'000'000));
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway bench overlap\n"
      "  gangway bench overlap --job examples/infogan.yaml --rounds 7\n"
      "  gangway bench overlap -n 2 --hostfile hosts --line-rate 1gbit --outdir /shared/bench\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options, &line] { return bench::bench_overlap(*options, line.environment); };
  });
}

void add_checkpoint(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<bench::CheckpointBenchOptions>();
  CLI::App* command = bench.add_subcommand(
      "checkpoint",
      "What snapshots and checkpoints cost a training, and the store beside the disk");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--size", options->sizes, "Sizes of the state, in MB")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("-n,--workers", options->workers, "Workers")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--outdir", options->outdir,
                      "Folder on the disk in question, which keeps the runs; default: a temporary "
                      "one");
  command->add_option("--every", options->every_steps, "Steps from one checkpoint to the next")
      ->capture_default_str()
      ->check(CLI::Range(4, 1'000'000));
  command->add_option("--checkpoints", options->checkpoints, "Checkpoints of a run")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--rounds", options->rounds, "Rounds in which each row has its turn")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--turns", options->turns, "Turns of memory, disk and store in a round")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--rival", options->rival,
                      "Command that is measured in turns with the same tensors, as "
                      "'.venv/bin/python bench/torch_async_save.py'");
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway bench checkpoint\n"
      "  gangway bench checkpoint --size 200 -n 4 --outdir /mnt/disk/bench\n"
      "  gangway bench checkpoint --rival '.venv/bin/python bench/torch_async_save.py'\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options, &line] { return bench::bench_checkpoint(*options, line.environment); };
  });
}

void add_recovery(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<bench::RecoveryOptions>();
  CLI::App* command =
      bench.add_subcommand("recovery", "How soon a run trains again after a kill, part by part");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--size", options->megabytes, "Size of the state, in MB")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("-n,--workers", options->workers, "Workers")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option(
      "--hostfile", options->hostfile,
      "Hosts whose processes can be killed from here, as those of tests/cluster/run");
  command->add_option("--outdir", options->outdir,
                      "Folder that keeps the runs, on several hosts one that all see; default: a "
                      "temporary one");
  command->add_option("--kinds", options->kinds, "What is killed, in turns")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"worker", "coordinator", "mpirun"}));
  command->add_option("--losses", options->losses, "Kills")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command
      ->add_option("--every", options->every_seconds,
                   "Seconds from one kill to the next, for the goodput too; 0: soon")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", options->seed, "Of ranks and moments")->capture_default_str();
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway bench recovery\n"
      "  gangway bench recovery --every 60 --losses 5\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback(
      [options, &line] { line.action = [options] { return bench::bench_recovery(*options); }; });
}

void add_compute(CLI::App& bench, CommandLine& line) {
  struct Options {
    std::vector<std::string> words{"compute"};
    std::string job;
    std::vector<std::string> overrides;
    std::string seconds = "0.2";
    bool is_json = false;
    bool anyway = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "compute", "Each layer of a job's networks beside what a core does at most");
  command->add_option("JOB", options->job, "Job file")->required();
  command->add_option("overrides", options->overrides, "Keys of the job file, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--seconds", options->seconds, "Seconds for each time")
      ->capture_default_str();
  command->add_flag("--json", options->is_json, "One line of JSON instead of a table");
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway bench compute examples/fashion-mnist.yaml model.width=64 training.batch=128\n"
      "  gangway bench compute examples/infogan.yaml numerics.precision=bf16\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options]() -> int {
      require_quiet_machine(options->anyway);
      std::vector<std::string> words = options->words;
      words.push_back(options->job);
      words.insert(words.end(), options->overrides.begin(), options->overrides.end());
      words.insert(words.end(), {"--seconds", options->seconds});
      if (options->is_json) {
        words.emplace_back("--json");
      }
      become("gangway-model", words);
    };
  });
}

void add_job(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<BenchJobOptions>();
  CLI::App* command = bench.add_subcommand(
      "job", "One report of a job on this machine: rates, parts, scaling, recovery, score");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command
      ->add_option("--workers", options->workers,
                   "Numbers of workers, as 1,2,4; default: one, and as many as there are cores")
      ->delimiter(',')
      ->allow_extra_args(false)  // keys may follow
      ->check(kPositiveNumber);
  command->add_option("--rounds", options->rounds, "Rounds in which each number has its turn")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--steps", options->steps, "Steps of a run")
      ->capture_default_str()
      ->check(CLI::Range(12, 1'000'000));
  command->add_option("--losses", options->losses, "Workers that are killed; 0: none")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_flag("!--no-score", options->is_scored, "Leave the score out");
  command->add_option("-o,--output", options->output,
                      "Files to write, without their ending; default: JOB.bench here");
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Example:\n"
      "  gangway bench job examples/fashion-mnist.yaml --workers 1,2\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options, &line] { return bench_job(*options, line.environment); };
  });
}

void add_node(CLI::App& bench, CommandLine& line) {
  const auto options = std::make_shared<BenchNodeOptions>();
  CLI::App* command = bench.add_subcommand(
      "node", "One report of this machine, to be sent to others: what it is, links, scaling");
  command->add_option("overrides", options->overrides, "Keys of its job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--minutes", options->minutes, "It has ended by then")
      ->capture_default_str()
      ->check(CLI::Range(0.5, 120.0));
  command
      ->add_option("--workers", options->workers,
                   "Numbers of workers; default: 1,2,4 and so on, up to GPUs or cores")
      ->delimiter(',')
      ->allow_extra_args(false)  // keys may follow
      ->check(kPositiveNumber);
  command
      ->add_option_function<std::string>(
          "--device",
          [options](const std::string& word) {
            options->device = word == "cuda"  ? DeviceKind::kCuda
                              : word == "cpu" ? DeviceKind::kCpu
                                              : DeviceKind::kAuto;
          },
          "What workers compute on; auto: GPUs where there are some")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->default_str("auto");
  command->add_option("-o,--output", options->output, "Files to write, without their ending")
      ->capture_default_str();
  command->footer(
      "Example:\n"
      "  gangway bench node\n"
      "docs/benchmarks.md says what is measured, and how it is fair.");
  command->callback([options, &line] {
    line.action = [options, &line] { return bench_node(*options, line.environment); };
  });
}

}  // namespace

void add_bench_commands(CLI::App& app, CommandLine& line) {
  CLI::App* bench = app.add_subcommand(
      "bench", "Measure this machine's or cluster's cores, communication and disk");
  bench->require_subcommand(1);
  add_allreduce(*bench, line);
  add_overlap(*bench, line);
  add_checkpoint(*bench, line);
  add_recovery(*bench, line);
  add_compute(*bench, line);
  add_job(*bench, line);
  add_node(*bench, line);
}

}  // namespace gangway::launch
