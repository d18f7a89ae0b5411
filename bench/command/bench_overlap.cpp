// SPDX-License-Identifier: MIT
#include "bench/command/bench_overlap.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "bench/command/overlap_figures.hpp"
#include "job/file/parse.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "run/line_rate.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kStepsOfATick = 3;

/// One way to run the job.
struct Way {
  std::string name;  ///< of its runs
  std::vector<std::string> overrides;
  int workers = 1;
  bool on_all_hosts = true;
};

class OverlapBench {
 public:
  OverlapBench(const OverlapOptions& options, const Environment& environment, fs::path outdir)
      : options_(options),
        outdir_(std::move(outdir)),
        spec_(load_job({.file = options.job,
                        .text = std::nullopt,
                        .overrides = options.overrides,
                        .environment = gangway_variables(environment)})
                  .spec) {}

  void run() {
    std::vector<OverlapRow> rows;
    for (const std::string& transport : options_.transports) {
      for (const std::string& mode : options_.modes) {
        rows.push_back({.transport = transport, .overlap = mode});
      }
    }
    std::vector<StepFigures> alone;
    for (int round = 0; round < options_.rounds; ++round) {
      if (const auto way = one_share(round)) {
        alone.push_back(measure(*way));
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        OverlapRow& row = rows[(static_cast<std::size_t>(round) + i) % rows.size()];
        row.rounds.push_back(measure(way_of(row, round)));
      }
      std::cout << fmt::format("round {} of {} done", round + 1, options_.rounds) << std::endl;
    }
    print(rows, alone);
  }

 private:
  [[nodiscard]] Way way_of(const OverlapRow& row, int round) const {
    return {.name = fmt::format("{}-{}-{}", row.transport, row.overlap, round + 1),
            .overrides = {"layout.transport=" + row.transport, "layout.overlap=" + row.overlap},
            .workers = options_.workers};
  }

  /// What one worker computes, with nobody to exchange anything with. Nothing: no whole
  /// micro-batches.
  [[nodiscard]] std::optional<Way> one_share(int round) const {
    if (spec_.training.microbatches % options_.workers != 0) {
      return std::nullopt;
    }
    return Way{
        .name = fmt::format("alone-{}", round + 1),
        .overrides = {fmt::format("training.batch={}", spec_.training.batch / options_.workers),
                      fmt::format("training.microbatches={}",
                                  spec_.training.microbatches / options_.workers)},
        .workers = 1,
        .on_all_hosts = false};
  }

  [[nodiscard]] std::vector<std::string> command(const Way& way) const {
    // A share of the batch is a share of the images: as many steps for all.
    const bool is_share = way.workers != options_.workers;
    const double images = static_cast<double>(spec_.images_per_step()) /
                          (is_share ? static_cast<double>(options_.workers) : 1.0);
    std::vector<std::string> words{(launch::program_folder() / "gangway").string(), "run",
                                   options_.job.string()};
    words.insert(words.end(), options_.overrides.begin(), options_.overrides.end());
    words.insert(words.end(), way.overrides.begin(), way.overrides.end());
    for (const std::string& more :
         {fmt::format("training.kimg={}", images * options_.steps / 1000.0),
          fmt::format("output.tick_kimg={}", images * kStepsOfATick / 1000.0),
          std::string("output.pictures_kimg=0"), std::string("checkpoint.every_kimg=0"),
          std::string("--outdir"), outdir_.string(), std::string("--run"), way.name,
          std::string("--workers"), std::to_string(way.workers), std::string("--progress"),
          std::string("lines")}) {
      words.push_back(more);
    }
    if (way.on_all_hosts && !options_.hostfile.empty()) {
      words.insert(words.end(), {"--hostfile", fs::absolute(options_.hostfile).string()});
    }
    return words;
  }

  [[nodiscard]] StepFigures measure(const Way& way) const {
    return step_figures(launch::measured_run(command(way), outdir_, way.name).stats,
                        options_.steps / 4);
  }

  /// Hosts that the workers fill one after the other.
  [[nodiscard]] int num_hosts() const {
    if (options_.hostfile.empty()) {
      return 1;
    }
    int hosts = 0;
    int slots = 0;
    for (const launch::Host& host : launch::read_hostfile(options_.hostfile)) {
      hosts += slots < options_.workers ? 1 : 0;
      slots += host.slots;
    }
    return hosts;
  }

  void print(const std::vector<OverlapRow>& rows, const std::vector<StepFigures>& alone) const {
    OverlapBound bound{.num_hosts = num_hosts()};
    if (!options_.line_rate.empty()) {
      bound.link_bytes_per_second = parse_line_rate(options_.line_rate);
    }
    for (const StepFigures& figures : alone) {
      bound.compute_seconds = bound.compute_seconds == 0.0
                                  ? figures.seconds
                                  : std::min(bound.compute_seconds, figures.seconds);
    }
    std::cout << fmt::format(
                     "\n{}, {} workers on {} host{}, {} rounds of {} steps in turns\n\n{}\n",
                     options_.job.string(), options_.workers, bound.num_hosts,
                     bound.num_hosts == 1 ? "" : "s", options_.rounds, options_.steps,
                     overlap_table(rows, bound))
              << (alone.empty() ? "compute: unknown, the workers do not divide the micro-batches\n"
                                : "compute: one worker's share of the batch, alone (its whole "
                                  "optimiser included), the best round\n")
              << "wire: what a host sends in a step, at the line rate; bound: the larger of both\n"
              << std::flush;
  }

  const OverlapOptions& options_;
  fs::path outdir_;
  JobSpec spec_;
};

}  // namespace

int bench_overlap(const OverlapOptions& options, const Environment& environment) {
  launch::require_programs(DeviceKind::kCpu);
  const launch::BenchFolder folder(options.outdir);
  OverlapBench bench(options, environment, folder.path());
  launch::require_quiet_machine(options.anyway);
  bench.run();
  return 0;
}

}  // namespace gangway::bench
