// SPDX-License-Identifier: MIT
#include "launch/init/init_job.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/system/usable_cores.hpp"
#include "bench/command/overlap_figures.hpp"
#include "launch/data/picture_facts.hpp"
#include "launch/init/job_advice.hpp"
#include "launch/init/templates.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/positive_number.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr int kMostWorkers = 8;
constexpr const char* kTrialRun = "trial";

struct InitJobOptions {
  std::string source;
  double minutes = 30.0;
  std::optional<int> resolution;
  int workers = 0;
  std::string recipe;
  bool no_trial = false;
  fs::path output = "job.yaml";
  bool force = false;
};

/// Where people are told how it gets on: a job may go to standard output.
std::ostream& said(const InitJobOptions& options) {
  return options.output == "-" ? std::cerr : std::cout;
}

/// Pictures a second. @throws EnvironmentError where the job does not run
double rate_of(JobAdvice advice, const PictureFacts& facts, const JobWishes& wishes) {
  advice.is_trial = true;
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "job.yaml";
  write_file_atomically(file, job_text(advice, facts, wishes, "-", "-"));
  const std::string outdir = (folder.path() / "runs").string();
  std::vector<std::string> words{(program_folder() / "gangway").string(),
                                 "run",
                                 file.string(),
                                 "--outdir",
                                 outdir,
                                 "--run",
                                 kTrialRun,
                                 "--progress",
                                 "lines",
                                 "--workers",
                                 std::to_string(wishes.workers),
                                 "training.kimg=2.56",
                                 "output.tick_kimg=0.512",
                                 "output.pictures_kimg=0",
                                 "checkpoint.every_kimg=0"};
  constexpr std::int64_t kWarmUp = 16;  // steps
  const MeasuredRun run = measured_run(words, outdir, kTrialRun);
  return kAdvisedBatch / bench::step_figures(run.stats, kWarmUp).seconds;
}

/// Tries the job, and perhaps one of another width.
void try_out(JobAdvice& advice, const PictureFacts& facts, const JobWishes& wishes,
             std::ostream& said) {
  const auto rate = [&] {
    said << fmt::format("trial   {} worker{}, {} pixels, width {}: ", wishes.workers,
                        wishes.workers == 1 ? "" : "s", advice.resolution, advice.width)
         << std::flush;
    const double found = rate_of(advice, facts, wishes);
    said << fmt::format("{:.0f} pictures a second\n", found) << std::flush;
    return found;
  };
  const auto begin = std::chrono::steady_clock::now();
  double found = rate();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (const auto width = other_width(advice, wishes, found, took.count())) {
    advice.width = *width;
    found = rate();
  }
  set_length(advice, wishes, found);
}

/// A published one, with the pictures in the place of its own.
std::string recipe_text(const std::string& name, const std::string& location) {
  const std::span<const PublishedRecipe> recipes = published_recipes();
  const auto found = std::ranges::find(recipes, name, &PublishedRecipe::name);
  if (found == recipes.end()) {
    std::vector<std::string_view> names;
    for (const PublishedRecipe& recipe : recipes) {
      names.push_back(recipe.name);
    }
    throw ConfigError(
        fmt::format("--recipe {}: there is none; there are {}", name, fmt::join(names, ", ")));
  }
  return with_source(found->text, fs::absolute(location).lexically_normal().string());
}

int write_job(const InitJobOptions& options, const CommandLine& line, const std::string& text,
              int workers) {
  if (options.output == "-") {
    std::cout << text << std::flush;
    return 0;
  }
  write_file_atomically(options.output, text);
  std::cout << fmt::format("{}: look it over, then: {} -n {}\n", options.output.string(),
                           shell_line({line.typed.front(), "run", options.output.string()}),
                           workers);
  return 0;
}

int init_job(const InitJobOptions& options, const CommandLine& line) {
  if (options.output != "-" && !options.force && fs::exists(options.output)) {
    throw ConfigError(
        fmt::format("{} is there already: --force writes over it, -o names another file",
                    options.output.string()));
  }
  require_there(options.source);
  const int gpus = num_gpus();
  const int cores = usable_cores();
  const JobWishes wishes{.minutes = options.minutes,
                         .resolution = options.resolution,
                         .workers = options.workers > 0
                                        ? options.workers
                                        : std::min(gpus > 0 ? gpus : cores, kMostWorkers),
                         .has_gpu = gpus > 0};
  if (!options.recipe.empty()) {
    return write_job(options, line, recipe_text(options.recipe, options.source), wishes.workers);
  }
  const PictureFacts facts = picture_facts(options.source);
  JobAdvice advice = advise(facts, wishes);
  std::ostream& said = launch::said(options);
  said << fmt::format(
              "data    {}: {} pictures, {} pixels (median of the shorter sides), {}{}\n",
              facts.source, facts.pictures, facts.side, facts.is_gray ? "grey" : "colour",
              facts.by_label.empty() ? "" : fmt::format(", {} labels", facts.by_label.size()))
       << std::flush;
  if (!options.no_trial) {
    require_programs(wishes.has_gpu ? DeviceKind::kCuda : DeviceKind::kCpu);
    try_out(advice, facts, wishes, said);
  } else {
    advice.notes.push_back(guess_note(advice, wishes));
  }
  for (const std::string& note : advice.notes) {
    said << "note    " << note << '\n';
  }
  const std::string file = options.output == "-" ? "job.yaml" : options.output.string();
  return write_job(options, line,
                   job_text(advice, facts, wishes, shell_line({file}), shell_line(line.typed)),
                   wishes.workers);
}

}  // namespace

void add_init_job(CLI::App& init, CommandLine& line) {
  const auto options = std::make_shared<InitJobOptions>();
  CLI::App* command = init.add_subcommand(
      "job", "A job file for a set of pictures, this machine and the time that you have");
  command
      ->add_option("source", options->source, "Folder, ZIP or tar of pictures (docs/pictures.md)")
      ->required()
      ->type_name("FOLDER_OR_FILE");
  command->add_option("--minutes", options->minutes, "Time for the training")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  command->add_option("--resolution", options->resolution,
                      "Pixels a side, 32 or 64; default: as the pictures are");
  command
      ->add_option("-n,--workers", options->workers,
                   "Workers; default: one a GPU, else one a core, up to 8")
      ->check(kPositiveNumber);
  command->add_option("--recipe", options->recipe,
                      "A published one in the place of advice, as r3gan-ffhq64: its own networks, "
                      "rates and length");
  command->add_flag("--no-trial", options->no_trial, "Do not try how fast it is");
  command->add_option("-o,--output", options->output, "File to write; '-': standard output")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Write over a file that is there");
  command->footer(
      "Examples:\n"
      "  gangway init job photos.zip\n"
      "  gangway init job photos/ --minutes 120 --resolution 64 -n 4 -o photos.yaml\n"
      "  gangway init job faces.zip --recipe r3gan-ffhq64");
  command->callback(
      [options, &line] { line.action = [options, &line] { return init_job(*options, line); }; });
}

}  // namespace gangway::launch
