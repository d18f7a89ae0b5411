// SPDX-License-Identifier: MIT
#include "launch/commands.hpp"

#include <array>

#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

constexpr std::array kOwn{add_run_command,         add_train_command,     add_digest_command,
                          add_checkpoint_commands, add_snapshot_commands, add_host_commands};

constexpr const char* kControl = "gangway-control";  // loads gRPC
constexpr const char* kModel = "gangway-model";      // loads LibTorch
constexpr const char* kTools = "gangway-tools";
constexpr auto kOthers = std::to_array<OtherCommand>({
    {"status", kControl, "State of a running job"},
    {"watch", kControl, "Ticks and events of a running job, live"},
    {"pause", kControl, "Pause a running job until it is resumed"},
    {"resume", kControl, "Resume a paused job"},
    {"checkpoint", kControl, "Save a checkpoint now"},
    {"set", kControl, "Change a key of a running job; results stay bitwise equal"},
    {"trace", kControl, "Trace the next steps of a running job, or list the operators of a trace"},
    {"drain", kControl, "Take a host out of a running job"},
    {"resize", kControl, "Continue with another number of workers"},
    {"stop", kControl, "Save and end a job"},
    {"sample", kModel, "Draw pictures from a trained generator"},
    {"apply", kModel, "Change pictures of yours by a trained translator"},
    {"evaluate", kModel, "Score a trained generator"},
    {"profile", kModel, "Measure what a job costs on this machine, for plans"},
    {"events", kPython,
     "List a run's decisions (rollbacks, lower learning rates, early stop), its losses and "
     "restarts, and its users' commands"},
    {"report", kPython, "Write a run's page as one HTML file, for any browser"},
    {"advise", kTools, "Say what would make a run faster, judged by its last ticks"},
    {"export-metrics", kPython, "Send a run's metrics to Weights & Biases or MLflow, live"},
    {"compare", kPython, "Set runs side by side: their jobs, curves, speed and pictures"},
    {"replay", kPython,
     "Train steps of a run again, on any layout, and compare with its checkpoints"},
    {"data", kTools, "Look at images before training on them"},
    {"find-lr", kPython,
     "Find a learning rate: a short training in which it rises until a loss explodes"},
    {"job", kTools, "Print a job as it is resolved: every key that applies"},
    {"plan", kTools,
     "Rank layouts of a job for a cluster by what they would cost, without running one"},
    {"tune", kPython, "Find what makes a job faster here with bitwise equal results, and prove it"},
    {"scale", kPython,
     "Measure how a job scales, and compare it with the prediction and the limit"},
    {"bench", kPython, "Measure this machine's or cluster's cores, communication and disk"},
    {"doctor", kPython, "What this machine has and lacks, or in what several hosts differ"},
    {"quantize", kPython,
     "Write a generator as INT8 ONNX, if the score of its pictures stays near that of float32"},
    {"import", kPython, "Begin a run with networks that another program has trained"},
    {"publish", kPython, "Write a trained generator as a folder in Hugging Face's layout"},
    {"verify", kPython, "Check a published folder: hashes, pictures made again, engines, training"},
    {"init", kPython,
     "Write a job for a set of pictures, or a job's files for Slurm, Kubernetes or a container "
     "build"},
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
