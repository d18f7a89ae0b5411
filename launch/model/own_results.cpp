// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "checkpoint/store/scores.hpp"
#include "data/open_dataset.hpp"
#include "gan/evaluation/picture_batch.hpp"
#include "gan/evaluation/step_batch.hpp"
#include "gan/pictures/png.hpp"
#include "launch/model/commands.hpp"
#include "python/open/python_step.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

std::unique_ptr<python::PythonStep> step_of(TrainedJob& trained) {
  PerNetwork<gan::Network*> networks;
  for (gan::Network& network : trained.networks) {
    networks.add(&network);
  }
  return python::make_python_step(trained.job, networks);
}

std::unique_ptr<data::Dataset> data_of(const JobSpec& job) {
  return data::open_dataset(job.data, job.model, job.training.seed);
}

/// Returns the means over all examples, in the order of the step's figures.
python::PythonStep::Figures means_of(TrainedJob& trained, std::int64_t count) {
  const JobSpec& job = trained.job;
  const std::unique_ptr<data::Dataset> dataset = data_of(job);
  const std::unique_ptr<python::PythonStep> step = step_of(trained);
  const std::int64_t at_once = job.images_per_microbatch();
  python::PythonStep::Figures means;
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t size = std::min(at_once, count - first);
    const python::PythonStep::Figures found =
        step->score(gan::step_batch(job, *dataset, first, size), first / at_once);
    if (means.empty()) {
      for (const auto& [name, value] : found) {
        means.emplace_back(name, 0.0);
      }
    }
    const auto name_of = [](const auto& figure) { return figure.first; };
    if (!std::ranges::equal(means, found, {}, name_of, name_of)) {
      throw ConfigError(
          "training.step: score returns other figures for one batch than for another");
    }
    for (std::size_t i = 0; i < means.size(); ++i) {
      means[i].second += found[i].second * static_cast<double>(size) / static_cast<double>(count);
    }
  }
  return means;
}

}  // namespace

void write_shown(TrainedJob& trained, const SampleOptions& options) {
  if (options.label || !options.interpolate.empty() || !options.noise.empty() ||
      !options.single.empty() || options.has_captions || options.truncation != 1.0) {
    throw ConfigError(
        "show() of this run's step makes its pictures from the first examples: of the options of "
        "sample, only -o applies");
  }
  const int columns = trained.job.output.grid;
  const std::unique_ptr<data::Dataset> dataset = data_of(trained.job);
  const python::PythonStep::Shown shown = step_of(trained)->show(
      gan::step_batch(trained.job, *dataset, 0, std::int64_t{columns} * columns));
  if (!shown.wav.empty()) {
    write_file_atomically(std::filesystem::path(options.picture).replace_extension(".wav"),
                          shown.wav);
  }
  pictures::write_png_grid(options.picture, gan::batch_of(shown.pictures), columns);
  fmt::print("{}: what show() of {} makes of the first examples at step {}\n",
             options.picture.string(), trained.directory.string(), trained.step);
}

void evaluate_own(TrainedJob& trained, const EvaluateOptions& options) {
  if (!options.of_images.empty()) {
    throw ConfigError(fmt::format(
        "{}: has no meaning where score() of the job's step says how good it is; leave it out",
        fmt::join(options.of_images, ", ")));
  }
  const JobSpec& job = trained.job;
  const std::int64_t count = std::min(job.evaluation.images, data_of(job)->size());
  const python::PythonStep::Figures figures = means_of(trained, count);
  const bool is_higher_better = job.training.own.is_higher_better;
  if (options.format == OutputFormat::kRecord) {
    const auto better = is_higher_better ? checkpoint::Better::kHigher : checkpoint::Better::kLower;
    checkpoint::CheckpointScore score{.checkpoint_id = trained.checkpoint_id,
                                      .metric = figures.front().first,
                                      .value = figures.front().second,
                                      .better = better,
                                      .samples = count};
    for (std::size_t i = 1; i < figures.size(); ++i) {
      score.beside.push_back(
          {.metric = figures[i].first, .value = figures[i].second, .better = better});
    }
    checkpoint::write_score(trained.directory / kCheckpointsFolder, trained.step, score);
    fmt::print("{} {:.4f} of step {}\n", score.metric, score.value, trained.step);
    return;
  }
  const double kimg = static_cast<double>(trained.images) / 1000.0;
  if (options.format == OutputFormat::kJson) {
    nlohmann::ordered_json report{{"run", trained.directory.string()},
                                  {"step", trained.step},
                                  {"kimg", kimg},
                                  {"metric", figures.front().first},
                                  {"score", figures.front().second},
                                  {"better", is_higher_better ? "higher" : "lower"},
                                  {"samples", count}};
    for (const auto& [name, value] : figures) {
      report["figures"][name] = value;
    }
    fmt::print("{}\n",
               report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{}  step {}, {:.1f} kimg, score() of {} examples\n", trained.directory.string(),
             trained.step, kimg, count);
  for (const auto& [name, value] : figures) {
    fmt::print("{:<12} {:10.5g}{}\n", name, value,
               &name != &figures.front().first ? ""
               : is_higher_better              ? "  higher is better"
                                               : "  lower is better");
  }
}

}  // namespace gangway::launch
