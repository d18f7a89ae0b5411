// SPDX-License-Identifier: MIT
// Functions that add the commands of `gangway` and `gangway-tools`. Called by launch/commands.cpp
// and launch/tools_commands.cpp. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

// `gangway`:

/// `run`: trains a job under mpirun.
void add_run_command(CLI::App& app, CommandLine& line);
/// `train`: the program of each rank under mpirun or srun.
void add_train_command(CLI::App& app, CommandLine& line);
/// `digest`: prints the hash of a trained state.
void add_digest_command(CLI::App& app, CommandLine& line);
/// `checkpoints`: exits with 5 if a checkpoint is damaged; diff exits with 1 if two differ.
void add_checkpoint_commands(CLI::App& app, CommandLine& line);
/// `snapshots`: lists and removes the snapshots that runs keep in this host's memory.
void add_snapshot_commands(CLI::App& app, CommandLine& line);
/// `check-host` (one rank's check), `ask-hosts` and `count-gpus`, hidden.
void add_host_commands(CLI::App& app, CommandLine& line);

// `gangway-tools`:

/// `advise`: suggests changes that make a run faster.
void add_advise_command(CLI::App& app, CommandLine& line);
/// `data`: inspects images before a training.
void add_data_commands(CLI::App& app, CommandLine& line);
/// `data bench`: times the loading of a job's examples. @param group  the command `data`
void add_data_bench_command(CLI::App& group, CommandLine& line);
/// `data pack`: decodes and resizes pictures once. @param group  the command `data`
void add_pack_command(CLI::App& group, CommandLine& line);
/// `job`: prints the resolved job, for people and tools (share/python/gangway/tools).
void add_job_command(CLI::App& app, CommandLine& line);
/// `plan`: ranks layouts of a job by their predicted costs.
void add_plan_command(CLI::App& app, CommandLine& line);
/// `ranks`, hidden: starts a measuring program under mpirun, for `gangway bench` in Python.
void add_ranks_command(CLI::App& app, CommandLine& line);
/// `store-times`, hidden: measures the checkpoint store alone, for `gangway bench checkpoint`.
void add_store_times_command(CLI::App& app, CommandLine& line);
/// `run-view`, hidden: prints a run directory as one document (docs/control.md).
void add_run_view_command(CLI::App& app, CommandLine& line);
/// `doctor-facts`, hidden: prints facts as one line of JSON, for `gangway doctor` in Python.
void add_doctor_facts_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
