// SPDX-License-Identifier: MIT
#include "launch/scale/scale.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "bench/command/overlap_figures.hpp"
#include "gan/pictures/line_plot.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/measuring_progress.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/process/terminal_width.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr int kTickSteps = 3;
constexpr int kPictureWidth = 640;
constexpr int kPictureHeight = 400;

JobSpec load_scaled(const ScaleOptions& options, const Environment& environment,
                    const std::vector<std::string>& more) {
  std::vector<std::string> overrides = options.overrides;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_job(with_data({.file = options.job,
                             .text = std::nullopt,
                             .overrides = overrides,
                             .environment = gangway_variables(environment)}))
      .spec;
}

/// The job with as many images and micro-batches as `times`, divided by `parts`.
std::vector<std::string> sized(const JobSpec& job, int times, int parts) {
  return {fmt::format("training.batch={}", job.training.batch * times / parts),
          fmt::format("training.microbatches={}", job.training.microbatches * times / parts)};
}

class ScaleBench {
 public:
  ScaleBench(const ScaleOptions& options, const Environment& environment)
      : options_(options),
        environment_(environment),
        job_(load_scaled(options, environment, {})),
        profile_(profile_of(options)) {
    for (const int workers : options_.workers) {
      if (measures(ScalingKind::kStrong) && workers > job_.training.microbatches) {
        throw ConfigError(fmt::format(
            "--workers {}: training.microbatches {} cannot be shared by so many; use fewer, "
            "--weak, or more micro-batches",
            workers, job_.training.microbatches));
      }
    }
    if (profile_) {  // refused before anything is trained
      plan::require_fitting(*profile_, profile_name(), job_);
    }
  }

  /// @param outdir  of the runs
  void run(const fs::path& outdir) {
    outdir_ = outdir;
    for (const ScalingKind kind : options_.kinds) {
      rows_.emplace_back(kind, rows_of(kind));
    }
    MeasuringProgress progress(std::cout, terminal_width(), num_runs());
    for (int round = 0; round < options_.rounds; ++round) {
      for (auto& [kind, rows] : rows_) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          ScaleRow& row = rows[(static_cast<std::size_t>(round) + i) % rows.size()];
          const std::string what =
              fmt::format("round {} of {}, {} scaling, {} worker{}", round + 1, options_.rounds,
                          name_of(kind), row.workers, row.workers == 1 ? "" : "s");
          progress.advance(0.0, what);
          measure(kind, row, round);
          progress.advance(1.0, what);
        }
      }
    }
    progress.finish();
    for (const auto& [kind, rows] : rows_) {
      std::cout << '\n' << scale_text(kind, rows);
    }
    std::cout << fmt::format(
        "\n{} steps a run, medians of {} rounds in turns; apart: as many processes that know "
        "nothing of "
        "one another, each with one worker's share\n{}",
        options_.steps, options_.rounds,
        profile_ ? "" : "no prediction: `gangway profile` has left nothing here\n");
    draw();
    std::cout << std::flush;
  }

 private:
  static const char* name_of(ScalingKind kind) {
    return kind == ScalingKind::kStrong ? "strong" : "weak";
  }
  /// Rows that are measured, each time; a row's runs apart take about as long as the run.
  [[nodiscard]] double num_runs() const {
    std::size_t rows = 0;
    for (const auto& [kind, of_kind] : rows_) {
      rows += of_kind.size();
    }
    return static_cast<double>(rows) * options_.rounds;
  }
  [[nodiscard]] bool measures(ScalingKind kind) const {
    return std::ranges::find(options_.kinds, kind) != options_.kinds.end();
  }
  [[nodiscard]] std::string profile_name() const {
    return (options_.profile.empty() ? plan::default_profile_file(options_.job) : options_.profile)
        .string();
  }
  static std::optional<plan::Profile> profile_of(const ScaleOptions& options) {
    if (!options.profile.empty()) {
      return plan::read_profile(options.profile);
    }
    const fs::path usual = plan::default_profile_file(options.job);
    return fs::exists(usual) ? std::optional(plan::read_profile(usual)) : std::nullopt;
  }

  [[nodiscard]] std::vector<ScaleRow> rows_of(ScalingKind kind) const {
    std::vector<ScaleRow> rows;
    for (const int workers : options_.workers) {
      const int times = kind == ScalingKind::kWeak ? workers : 1;
      const JobSpec job = load_scaled(options_, environment_, sized(job_, times, 1));
      rows.push_back({.workers = workers,
                      .images_per_step = static_cast<double>(job.images_per_step()),
                      .predicted = predicted(job, workers)});
    }
    return rows;
  }

  [[nodiscard]] std::optional<double> predicted(const JobSpec& job, int workers) const {
    if (!profile_) {
      return std::nullopt;
    }
    plan::Cluster host = plan::profiled_host(*profile_);
    if (host.num_devices() < workers) {
      host.nodes.front().speeds.resize(static_cast<std::size_t>(workers), 1.0);
    }
    const plan::Planner planner(job, *profile_, profile_name(), host);
    const TransportKind transport =
        job.layout.transport == TransportKind::kMpi ? TransportKind::kMpi : TransportKind::kShm;
    return predict(planner.input(),
                   plan::whole_candidate(job, workers, job.layout.overlap, transport))
        .step_seconds;
  }

  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& sizes, int workers,
                                                 const std::string& name) const {
    std::vector<std::string> words{(program_folder() / "gangway").string(), "run",
                                   options_.job.string()};
    words.insert(words.end(), options_.overrides.begin(), options_.overrides.end());
    words.insert(words.end(), sizes.begin(), sizes.end());
    const double images =
        static_cast<double>(load_scaled(options_, environment_, sizes).images_per_step());
    for (const std::string& more :
         {fmt::format("training.kimg={}", images * options_.steps / 1000.0),
          fmt::format("output.tick_kimg={}", images * kTickSteps / 1000.0),
          std::string("output.pictures_kimg=0"), std::string("checkpoint.every_kimg=0"),
          std::string("checkpoint.snapshot_steps=0"), std::string("--outdir"), outdir_.string(),
          std::string("--run"), name, std::string("--workers"), std::to_string(workers),
          std::string("--progress"), std::string("lines")}) {
      words.push_back(more);
    }
    return words;
  }

  void measure(ScalingKind kind, ScaleRow& row, int round) {
    const bool is_weak = kind == ScalingKind::kWeak;
    const std::string name = fmt::format("{}-{}-{}", name_of(kind), row.workers, round);
    const std::vector<std::string> sizes = sized(job_, is_weak ? row.workers : 1, 1);
    const MeasuredRun run = measured_run(command(sizes, row.workers, name), outdir_, name);
    row.steps.push_back(bench::step_figures(run.stats, options_.steps / 4).seconds);
    const int parts = is_weak ? 1 : row.workers;
    if (job_.training.microbatches % parts == 0) {
      row.ceilings.push_back(apart(sized(job_, 1, parts), row.workers, name));
    }
  }

  /// Seconds of a step of `count` runs of one worker each, at the same time.
  [[nodiscard]] double apart(const std::vector<std::string>& sizes, int count,
                             const std::string& name) const {
    // What the shell is told, it tells all: it waits for their ends, told or not.
    std::string script = "trap 'kill $pids' INT TERM HUP; ";
    for (int i = 0; i < count; ++i) {
      script += fmt::format("{} & pids=\"$pids $!\"; ",
                            shell_line(command(sizes, 1, fmt::format("{}-apart{}", name, i))));
    }
    const ChildOutput output = output_of_child(
        {"sh", "-c", fmt::format("{} wait; wait; wait", script)}, ToldToEnd::kAtOnce);
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
      sum += bench::step_figures(stats_of(fmt::format("{}-apart{}", name, i), output.text),
                                 options_.steps / 4)
                 .seconds;
    }
    return sum / count;
  }

  [[nodiscard]] std::string stats_of(const std::string& name, const std::string& said) const {
    if (const std::optional<MeasuredRun> run = left_by_run(outdir_, name)) {
      return run->stats;
    }
    constexpr std::size_t kLastWords = 1000;
    throw EnvironmentError(
        fmt::format("a run of one worker left nothing in {}: {}", outdir_.string(),
                    said.substr(said.size() - std::min(said.size(), kLastWords))));
  }

  void draw() const {
    if (options_.picture.empty() || options_.workers.size() < 2) {
      return;
    }
    const auto& [kind, rows] = rows_.front();
    const ScalingFit fit = fit_scaling(kind, rows);
    pictures::LinePlot plot;
    std::vector<double> measured;
    std::vector<double> predictions;
    std::vector<double> fitted;
    std::vector<double> ideal;
    for (const ScaleRow& row : rows) {
      const auto rate = [&](double seconds) { return row.images_per_step / seconds; };
      plot.x.push_back(row.workers);
      measured.push_back(rate(median_of(row.steps)));
      fitted.push_back(rate(fit.seconds(kind, row.workers)));
      ideal.push_back(measured.front() * row.workers / rows.front().workers);
      if (row.predicted) {
        predictions.push_back(rate(*row.predicted));
      }
      plot.high = std::max({plot.high, measured.back(), ideal.back()});
    }
    plot.lines = {{ideal, pictures::kGray},
                  {fitted, pictures::kGreen},
                  {predictions, pictures::kOrange},
                  {measured, pictures::kBlue}};
    pictures::write_png(options_.picture, draw_line_plot(plot, kPictureWidth, kPictureHeight));
    std::cout << fmt::format(
        "{}: images/s by workers, {} scaling: measured blue, predicted orange, fit green, ideal "
        "gray\n",
        options_.picture.string(), name_of(kind));
  }

  const ScaleOptions& options_;
  const Environment& environment_;
  fs::path outdir_;
  JobSpec job_;
  std::optional<plan::Profile> profile_;
  std::vector<std::pair<ScalingKind, std::vector<ScaleRow>>> rows_;
};

void require_rising(const std::vector<int>& workers) {
  if (workers.empty() || workers.front() < 1 ||
      std::ranges::adjacent_find(workers, std::greater_equal()) != workers.end()) {
    throw ConfigError(fmt::format("--workers {}: expected numbers from 1 that rise, as 1,2,4",
                                  fmt::join(workers, ",")));
  }
}

}  // namespace

int scale(const ScaleOptions& options, const Environment& environment) {
  require_rising(options.workers);
  require_programs(DeviceKind::kCpu);
  ScaleBench bench(options, environment);
  require_quiet_machine(options.anyway);
  const BenchFolder folder(options.outdir);
  bench.run(folder.path());
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
