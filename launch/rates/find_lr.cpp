// SPDX-License-Identifier: MIT
#include "launch/rates/find_lr.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "gan/pictures/line_plot.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/rates/range_figures.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRangeRun = "find-lr";
constexpr std::size_t kTableRows = 24;
constexpr int kPlotWidth = 640;
constexpr int kPlotHeight = 400;

struct NamedColor {
  std::string_view name;
  pictures::Color color;
};
/// Of networks; more of them begin again.
constexpr std::array kNetworkColors{NamedColor{"blue", pictures::kBlue},
                                    NamedColor{"orange", pictures::kOrange},
                                    NamedColor{"gray", pictures::kGray}};

const NamedColor& color_of(std::size_t network) {
  return kNetworkColors[network % kNetworkColors.size()];
}

void require_range(const FindLrOptions& options) {
  if (!(options.from > 0.0) || !(options.to > options.from) ||
      options.to / options.from > kLargestReal) {
    throw ConfigError(
        fmt::format("--from {} --to {}: expected two rates above 0 that rise, by a "
                    "factor of 1e9 at most",
                    options.from, options.to));
  }
}

/// Refused before anything is trained.
void require_place(const fs::path& picture) {
  std::error_code ignored;
  const fs::path folder = picture.has_parent_path() ? picture.parent_path() : fs::path(".");
  if (fs::is_directory(picture, ignored)) {
    throw ConfigError(fmt::format("-o {}: that is a folder; name a file in it", picture.string()));
  }
  if (!picture.empty() && !fs::is_directory(folder, ignored)) {
    throw ConfigError(fmt::format("-o {}: there is no folder {}; make it first", picture.string(),
                                  folder.string()));
  }
}

/// The losses as long as they are not beyond what can be seen beside the others.
pictures::LinePlot plot_of(const RangeCurve& curve, const RangeVerdict& verdict) {
  pictures::LinePlot plot{.x = curve.rates, .lines = {}};
  const std::size_t end = verdict.diverged ? verdict.diverged->step : curve.rates.size();
  plot.low = std::numeric_limits<double>::infinity();
  plot.high = -plot.low;
  for (std::size_t i = 0; i < curve.networks.size(); ++i) {
    const std::vector<double>& losses = curve.networks[i].losses;
    plot.lines.push_back({losses, color_of(i).color});
    for (std::size_t step = 0; step < std::min(end, losses.size()); ++step) {
      plot.low = std::min(plot.low, losses[step]);
      plot.high = std::max(plot.high, losses[step]);
    }
  }
  if (!(plot.high > plot.low)) {
    plot.low = std::isfinite(plot.low) ? plot.low : 0.0;
    plot.high = plot.low + 1.0;
  }
  if (verdict.diverged) {
    plot.marks.push_back({verdict.diverged->rate, pictures::kRed});
  }
  if (verdict.suggested > 0.0) {
    plot.marks.push_back({verdict.suggested, pictures::kGreen});
  }
  return plot;
}

void write_picture(const fs::path& path, const RangeCurve& curve, const RangeVerdict& verdict) {
  if (curve.rates.size() < 2) {
    std::cout << path.string() << ": not written, the test had no two steps\n";
    return;
  }
  pictures::write_png(path, draw_line_plot(plot_of(curve, verdict), kPlotWidth, kPlotHeight));
  std::string legend;
  for (std::size_t i = 0; i < curve.networks.size(); ++i) {
    legend += fmt::format("{} {}, ", curve.networks[i].name, color_of(i).name);
  }
  std::cout << fmt::format("{}: losses by lr, {}diverges red, suggested green\n", path.string(),
                           legend);
}

}  // namespace

std::vector<std::string> tested_networks(const JobSpec& job, const std::string& network) {
  if (!network.empty()) {
    const NetworkSpec& chosen = job.networks[job.chosen(network)];
    if (chosen.is_frozen) {
      throw ConfigError(
          fmt::format("--network {}: it is frozen, and has no learning rate", network));
    }
    return {chosen.name};
  }
  std::vector<std::string> names;
  for (const NetworkSpec& one : job.networks) {
    if (!one.is_frozen) {
      names.push_back(one.name);
    }
  }
  return names;
}

JobSpec range_job(const JobSpec& job, const std::vector<std::string>& tested,
                  const FindLrOptions& options) {
  const double kimg_of_step = static_cast<double>(job.images_per_step()) / 1000.0;
  JobSpec range = job;
  for (const std::string& name : tested) {
    NetworkSpec& network = range.network(name);
    network.optimizer.lr = options.from;
    network.schedule = {.decay = DecayKind::kExponential,
                        .end_kimg = kimg_of_step * options.steps,
                        .final_value = options.to / options.from};
  }
  range.training.burn_in_kimg = 0.0;
  if (range.ends_burn_in()) {
    range.training.burn_in_kimg = job.burn_in_images() / 1000.0;
  }
  // Half a step less: rounded up, it is as many steps whatever kimg_of_step has been rounded to.
  range.training.kimg = kimg_of_step * (options.steps - 0.5);
  range.output.tick_kimg = kimg_of_step;
  range.output.pictures_kimg = 0.0;
  range.layout.audit = false;
  range.layout.check_steps = 0;
  range.training.plateau = {};
  range.training.divergence = {};
  range.training.divergence.loss_bound = 0.0;  // where it explodes is looked for
  range.checkpoint = {};
  range.checkpoint.every_kimg = 0.0;
  range.checkpoint.snapshot_steps = 0;
  return range;
}

std::vector<double> range_rates(const JobSpec& range_job, const std::string& tested) {
  const NetworkSpec& network = range_job.network(tested);
  std::vector<double> rates;
  for (std::int64_t step = 1; step <= range_job.total_steps(); ++step) {
    const auto images = static_cast<double>(step * range_job.images_per_step());
    rates.push_back(network.optimizer.lr *
                    scheduled(1.0, network.schedule, images, range_job.burn_in_images()));
  }
  return rates;
}

int find_lr(const FindLrOptions& options, const Environment& environment) {
  require_range(options);
  require_place(options.picture);
  const JobSpec job = load_job(with_data({.file = options.job,
                                          .text = std::nullopt,
                                          .overrides = options.overrides,
                                          .environment = gangway_variables(environment)}))
                          .spec;
  if (options.workers > job.training.microbatches) {
    throw ConfigError(fmt::format(
        "-n {}: so many workers cannot share training.microbatches {}; use at most {}, or more "
        "micro-batches",
        options.workers, job.training.microbatches, job.training.microbatches));
  }
  const std::vector<std::string> tested = tested_networks(job, options.network);
  const JobSpec range = range_job(job, tested, options);
  const std::vector<double> rates = range_rates(range, tested.front());
  require_programs(job.numerics.device);
  const TemporaryFolder folder;
  std::cout << fmt::format("{}: lr of {} from {:g} to {:g} in {} steps\n", options.job.string(),
                           fmt::format("{}", fmt::join(tested, ", ")), options.from, options.to,
                           rates.size())
            << std::flush;
  const MeasuredRun run =
      measured_run(command_of_run(range, folder.path(), kRangeRun, options.workers, environment),
                   folder.path() / "runs", kRangeRun, MayDiverge::kYes);
  std::vector<std::string> names;
  for (const NetworkSpec& network : range.networks) {
    names.push_back(network.name);
  }
  const RangeCurve curve = range_curve(run.stats, names, rates);
  const std::size_t last = std::min(curve.rates.size(), rates.size() - 1);
  const RangeVerdict verdict =
      judge_range(curve, tested, run.has_diverged ? std::optional(rates[last]) : std::nullopt);
  std::cout << '\n'
            << range_table(curve, kTableRows) << '\n'
            << range_verdict_text(verdict, rates.back());
  if (!options.picture.empty()) {
    write_picture(options.picture, curve, verdict);
  }
  std::cout << std::flush;
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
