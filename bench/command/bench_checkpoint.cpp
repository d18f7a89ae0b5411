// SPDX-License-Identifier: MIT
#include "bench/command/bench_checkpoint.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "bench/command/checkpoint_figures.hpp"
#include "bench/command/store_bench.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/store/scan.hpp"
#include "job/file/parse.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_output.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "run/run_files.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kLatent = 100;
/// Steps that do not count, and as many after the last checkpoint, for what it costs later.
constexpr int kLeastWarmupSteps = 10;
/// Images times megabytes of a step.
constexpr int kWorkOfAStep = 64'000;

/// The first words of /proc/loadavg: what this machine did in the last 1, 5 and 15 minutes.
std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string one;
  std::string five;
  std::string fifteen;
  file >> one >> five >> fifteen;
  return fmt::format("{} {} {}", one, five, fifteen);
}

class CheckpointBench {
 public:
  /// @throws JobFileError where the overrides fit no job
  CheckpointBench(const CheckpointBenchOptions& options, const Environment& environment,
                  int megabytes, fs::path outdir)
      : options_(options),
        megabytes_(megabytes),
        model_(bench_model(megabytes)),
        outdir_(std::move(outdir)),
        job_(job_text()),
        spec_(load_job({.file = "bench.yaml",
                        .text = job_,
                        .overrides = options.overrides,
                        .environment = gangway_variables(environment)})
                  .spec) {
    rounds_.every_steps = options.every_steps;
  }

  void run() {
    for (int round = 0; round < options_.rounds; ++round) {
      const bool with_first = round % 2 == 0;
      if (!with_first) {
        rounds_.without.push_back(train(round, Saves::kNo));
      }
      rounds_.with.push_back(train(round, Saves::kYes));
      if (with_first) {
        rounds_.without.push_back(train(round, Saves::kNo));
      }
      measure_store();
      if (!options_.rival.empty()) {
        add_rivals(rival_lines(), rounds_.rivals);
      }
      std::cout << fmt::format("{} MB: round {} of {} done", megabytes_, round + 1, options_.rounds)
                << std::endl;
    }
    print();
    store_.reset();  // the next size needs the memory
  }

 private:
  enum class Saves { kNo, kYes };

  [[nodiscard]] int num_steps() const {
    return options_.every_steps * options_.checkpoints + num_warmup_steps();
  }
  /// Midway between two checkpoints: on a slow disk one is told of steps after its own, and would
  /// be counted if the warm-up ended just behind it.
  [[nodiscard]] int num_warmup_steps() const {
    const int every = options_.every_steps;
    return std::max(kLeastWarmupSteps, kLeastWarmupSteps / every * every + every / 2);
  }

  [[nodiscard]] std::string job_text() const {
    const int microbatches = std::max(2, options_.workers);
    const int batch = std::max(model_.batch / microbatches, 1) * microbatches;
    return fmt::format(
        "model: {{family: mlp, width: {}, latent: {}}}\n"
        "data: {{source: 'toy:ring8'}}\n"
        "training: {{batch: {}, microbatches: {}}}\n"
        "checkpoint: {{every_kimg: 0, snapshot_steps: 0, keep: 1}}\n"
        "output: {{pictures_kimg: 0}}\n",
        model_.width, kLatent, batch, microbatches);
  }

  [[nodiscard]] std::vector<std::string> command(const std::string& name, Saves saves) const {
    const fs::path job = outdir_ / fmt::format("{}-mb.yaml", megabytes_);
    write_file_atomically(job, job_);
    const double kimg = static_cast<double>(spec_.images_per_step()) / 1000.0;
    std::vector<std::string> words{(launch::program_folder() / "gangway").string(), "run",
                                   job.string()};
    words.insert(words.end(), options_.overrides.begin(), options_.overrides.end());
    for (const std::string& more :
         {fmt::format("training.kimg={}", kimg * num_steps()),
          fmt::format("output.tick_kimg={}", kimg),
          fmt::format("checkpoint.every_steps={}", saves == Saves::kYes ? options_.every_steps : 0),
          std::string("--outdir"), outdir_.string(), std::string("--run"), name,
          std::string("--workers"), std::to_string(options_.workers), std::string("--progress"),
          std::string("lines")}) {
      words.push_back(more);
    }
    return words;
  }

  /// One run; what it leaves on the disk goes, but for the newest checkpoint of the first with
  /// some.
  [[nodiscard]] CheckpointRun train(int round, Saves saves) {
    const std::string name = fmt::format("{}-mb-{}-{}", megabytes_,
                                         saves == Saves::kYes ? "with" : "without", round + 1);
    const launch::MeasuredRun run = launch::measured_run(command(name, saves), outdir_, name);
    const CheckpointRun figures = checkpoint_run(run.stats, num_warmup_steps());
    if (saves == Saves::kYes && !store_) {
      begin_store(run.directory / kCheckpointsFolder);
    }
    fs::remove_all(run.directory / kCheckpointsFolder);
    return figures;
  }

  void begin_store(const fs::path& checkpoints) {
    const auto newest = checkpoint::newest_valid(
        checkpoints, [](const std::string&) {}, checkpoint::Depth::kStructure);
    if (!newest) {
      throw EnvironmentError(
          fmt::format("{}: a run has left no checkpoint: look at its log", checkpoints.string()));
    }
    write_tensor_list(checkpoint::StoredState(newest->path));
    store_ = std::make_unique<StoreBench>(newest->path,
                                          outdir_ / fmt::format("{}-mb-store", megabytes_));
    rounds_.state_bytes = store_->state_bytes();
  }

  /// For the rival: a line a tensor, its sizes.
  void write_tensor_list(const checkpoint::StoredState& state) const {
    std::string text;
    for (const checkpoint::StoredTensor& tensor : state.tensors()) {
      if (tensor.type == checkpoint::ElementType::kF32) {
        text += fmt::format("{} {}\n", tensor.name, fmt::join(tensor.shape, " "));
      }
    }
    write_file_atomically(tensor_list(), text);
  }
  [[nodiscard]] fs::path tensor_list() const {
    return outdir_ / fmt::format("{}-mb-tensors.txt", megabytes_);
  }

  void measure_store() {
    for (int turn = 0; turn < options_.turns; ++turn) {
      rounds_.copies.push_back(store_->copy());
      rounds_.stores.push_back(store_->write_and_read());
    }
  }

  [[nodiscard]] std::string rival_lines() const {
    const std::string line = fmt::format(
        "{} {}", options_.rival,
        launch::shell_line({"--tensors", tensor_list().string(), "--processes",
                            std::to_string(options_.workers), "--folder", outdir_.string()}));
    const launch::CommandOutput output = launch::output_of(line + " 2>/dev/null");
    if (output.code != 0) {
      throw EnvironmentError(fmt::format("'{}' failed: start it by hand", line));
    }
    return output.text;
  }

  void print() const {
    std::vector<double> steps;
    for (const CheckpointRun& run : rounds_.with) {
      steps.push_back(run.step_seconds);
    }
    std::cout << fmt::format(
                     "\n{:.1f} MB of state: mlp of width {}, {} workers on this host, a step of "
                     "{:.0f} ms; {} rounds of {} checkpoints, one every {} steps\n\n{}\n{}\n\n{}\n",
                     rounds_.state_bytes / kMegabyte, model_.width, options_.workers,
                     1e3 * percentile(steps, 50.0), options_.rounds, options_.checkpoints,
                     options_.every_steps, stall_table(rounds_), speed_line(rounds_),
                     store_table(rounds_))
              << std::flush;
  }

  const CheckpointBenchOptions& options_;
  int megabytes_;
  BenchModel model_;
  fs::path outdir_;
  std::string job_;  ///< but for its length
  JobSpec spec_;
  std::unique_ptr<StoreBench> store_;
  CheckpointRounds rounds_;
};

}  // namespace

BenchModel bench_model(int megabytes) {
  BenchModel model;
  constexpr double kOutputs = 2.0;  // toy data are points
  while (model.state_bytes < megabytes * kMegabyte) {
    model.width += 2;
    const double width = model.width;
    const double hidden = 2.0 * (width * width + width);
    const double generator = (kLatent + 1.0) * width + hidden + (width + 1.0) * kOutputs;
    const double discriminator = (kOutputs + 1.0) * width + hidden + width + 1.0;
    // Weights, two moments, and the generator's average; floats.
    model.state_bytes = sizeof(float) * (4.0 * generator + 3.0 * discriminator);
  }
  constexpr int kMostImages = 256;
  const auto images = static_cast<unsigned>(std::max(kWorkOfAStep / megabytes, 2));
  model.batch = std::min(static_cast<int>(std::bit_floor(images)), kMostImages);
  return model;
}

int bench_checkpoint(const CheckpointBenchOptions& options, const Environment& environment) {
  launch::require_programs(DeviceKind::kCpu);
  const launch::BenchFolder folder(options.outdir);
  std::vector<CheckpointBench> benches;
  for (const int megabytes : options.sizes) {
    benches.emplace_back(options, environment, megabytes, folder.path());
  }
  launch::require_quiet_machine(options.anyway);
  std::cout << fmt::format("load before: {}; disk of {}", load_average(), folder.path().string())
            << std::endl;
  for (CheckpointBench& bench : benches) {
    bench.run();
  }
  std::cout << fmt::format("load after: {} (mostly this benchmark's own)", load_average())
            << std::endl;
  launch::require_quiet_machine(/*anyway=*/true);
  return 0;
}

}  // namespace gangway::bench
