// SPDX-License-Identifier: MIT
#include "launch/commands.hpp"

#include <array>

#include "launch/checkpoints/checkpoint_commands.hpp"
#include "launch/checkpoints/digest_command.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/run/run_commands.hpp"

namespace gangway::launch {
namespace {

constexpr std::array kOwn{add_run_command,         add_train_command,     add_digest_command,
                          add_checkpoint_commands, add_snapshot_commands, add_host_commands};

constexpr const char* kControl = "gangway-control";  // loads gRPC
constexpr const char* kModel = "gangway-model";      // loads LibTorch
constexpr const char* kTools = "gangway-tools";
constexpr auto kOthers = std::to_array<OtherCommand>({
    {"status", kControl, "How a running job stands"},
    {"watch", kControl, "Its ticks and events as they come"},
    {"pause", kControl, "Train no further steps until it is resumed"},
    {"resume", kControl, "Train on after a pause"},
    {"checkpoint", kControl, "Save a checkpoint now"},
    {"set", kControl, "Change a key of a running job that changes no bit"},
    {"trace", kControl, "Trace steps to come of a running job, or show the operators of what was"},
    {"drain", kControl, "Take a host out of a running job"},
    {"resize", kControl, "Go on with another number of workers"},
    {"stop", kControl, "Save, and leave"},
    {"sample", kModel, "Draw pictures from a trained generator"},
    {"evaluate", kModel, "Score a trained generator"},
    {"profile", kModel, "Measure what a job costs on this machine, for plans"},
    {"events", kPython,
     "What was decided while a run was trained (rollbacks, lower rates, its early end), what it "
     "lost and how it went on, and what people asked of it"},
    {"report", kPython, "Write a run's page as one HTML file, for any browser"},
    {"advise", kTools, "Say what would make a run faster, by what its last ticks tell"},
    {"export-metrics", kPython, "Hand a run's metrics to Weights & Biases or MLflow, as they come"},
    {"compare", kPython, "Set runs side by side: their jobs, curves, speed and pictures"},
    {"replay", kPython,
     "Train steps of a run again, on any layout, and compare with its checkpoints"},
    {"data", kTools, "Look at images before training on them"},
    {"find-lr", kPython,
     "Find a learning rate: a short training in which it rises until a loss explodes"},
    {"job", kTools, "Print a job as it is resolved: every key that applies"},
    {"plan", kTools,
     "Rank layouts of a job for a cluster by what they would cost, without running one"},
    {"tune", kPython, "Find what makes a job faster here without changing a bit, and prove it"},
    {"scale", kPython, "Measure how a job scales, beside what was predicted and what is possible"},
    {"bench", kPython, "Measure this machine's or cluster's cores, communication and disk"},
    {"doctor", kPython, "What this machine has and lacks, or in what several hosts differ"},
    {"init", kPython,
     "Write a job for a set of pictures, or what Slurm, Kubernetes or a builder of containers "
     "needs for a job"},
    // Hidden commands that other commands start.
    {"host-facts", kPython, ""},
    {"doctor-facts", kTools, ""},
    {"ranks", kTools, ""},
    {"store-times", kTools, ""},
    {"run-view", kTools, ""},
});

}  // namespace

ProgramCommands gangway_commands() { return {.own = kOwn, .others = kOthers}; }

}  // namespace gangway::launch
