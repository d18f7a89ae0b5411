// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "checkpoint/store/scores.hpp"
#include "gan/data/toy.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/toy_modes.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_weights.hpp"
#include "launch/model/image_scores.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kToyPrefix = "toy:";
constexpr const char* kImageMetric = "FD-LeNet";

nlohmann::ordered_json describe(const TrainedRun& run) {
  return {{"run", run.directory.string()},
          {"step", run.step},
          {"kimg", static_cast<double>(run.images) / 1000.0},
          {"weights", run.weights == WeightVersion::kAverage ? "generator_ema" : "generator"}};
}

void print_heading(const TrainedRun& run) {
  fmt::print("{}  step {}, {:.1f} kimg, {}\n", run.directory.string(), run.step,
             static_cast<double>(run.images) / 1000.0,
             run.weights == WeightVersion::kAverage ? "averaged generator" : "generator");
}

/// Keeps it beside the checkpoint.
void record(const TrainedRun& run, const EvaluateOptions& options,
            checkpoint::CheckpointScore score) {
  score.checkpoint_id = run.checkpoint_id;
  score.samples = options.samples;
  checkpoint::write_score(run.directory / kCheckpointsFolder, run.step, score);
  fmt::print("{} {:.4f} of step {}\n", score.metric, score.value, run.step);
}

void print_precision_recall(const ImageScores& scores) {
  const auto line = [&](const char* name, double value, double of_real, const char* meaning) {
    fmt::print("{:9}{:7.3f}  {}; of other real images {:.3f}\n", name, value, meaning, of_real);
  };
  line("precision", scores.generated.precision, scores.held_back.precision,
       "share of the generated among the real ones");
  line("recall", scores.generated.recall, scores.held_back.recall,
       "share of the real among the generated ones");
}

void print_class_shares(const ClassShareScores& shares) {
  fmt::print("\n{:12} {:>9} {:>9}\n", "shares", "generated", "real");
  for (std::size_t i = 0; i < gan::kClothes.size(); ++i) {
    fmt::print("{:12} {:7.1f} % {:7.1f} %\n", gan::kClothes.at(i), 100.0 * shares.generated.at(i),
               100.0 * shares.real.at(i));
  }
}

void print_json(const TrainedRun& run, const EvaluateOptions& options, const ImageScores& scores,
                const std::string& reference) {
  nlohmann::ordered_json report = describe(run);
  report.update({{"metric", kImageMetric},
                 {"score", scores.distance.score},
                 {"floor", scores.distance.floor},
                 {"ceiling", scores.distance.ceiling},
                 {"precision", scores.generated.precision},
                 {"recall", scores.generated.recall},
                 {"precision_floor", scores.held_back.precision},
                 {"recall_floor", scores.held_back.recall},
                 {"samples", options.samples},
                 {"neighbour_samples", scores.neighbour_samples},
                 {"reference", reference},
                 {"features", kFeatureWeightsHash}});
  if (scores.shares) {
    for (std::size_t i = 0; i < gan::kClothes.size(); ++i) {
      report["class_shares"][gan::kClothes.at(i)] = {{"generated", scores.shares->generated.at(i)},
                                                     {"real", scores.shares->real.at(i)}};
    }
  }
  fmt::print("{}\n", report.dump());
}

void evaluate_images(TrainedRun& run, const EvaluateOptions& options) {
  const ReferenceData data = open_reference_data(run.job);
  ImageScorer scorer(data, options);
  if (options.format == OutputFormat::kRecord) {
    record(run, options,
           {.metric = kImageMetric,
            .value = scorer.distance_of(run),
            .better = checkpoint::Better::kLower});
    return;
  }
  const ImageScores scores = scorer.scores_of(run);
  if (options.format == OutputFormat::kJson) {
    print_json(run, options, scores, data.description);
    return;
  }
  print_heading(run);
  fmt::print("FD-LeNet {:8.2f}  {} generated against {}\n", scores.distance.score, options.samples,
             data.description);
  fmt::print("floor    {:8.2f}  {} other real images against the same\n", scores.distance.floor,
             data.count);
  fmt::print("ceiling  {:8.2f}  the generator before its training against the same\n",
             scores.distance.ceiling);
  print_precision_recall(scores);
  if (scores.shares) {
    print_class_shares(*scores.shares);
  }
}

at::Tensor toy_points(TrainedRun& run, std::int64_t samples) {
  return gan::evaluation_samples(run.generator, run.job.model, kEvaluationSeed)(0, samples)
      .contiguous();
}

void evaluate_points(TrainedRun& run, const data::ToyMixture& mixture,
                     const EvaluateOptions& options) {
  const at::Tensor points = toy_points(run, options.samples);
  const gan::ToyModes modes = gan::count_toy_modes(
      mixture, {points.const_data_ptr<float>(), static_cast<std::size_t>(points.numel())});
  if (options.format == OutputFormat::kRecord) {
    record(run, options,
           {.metric = "mode-score",
            .value = modes.good_share * modes.covered / modes.modes,
            .better = checkpoint::Better::kHigher});
    return;
  }
  if (options.format == OutputFormat::kJson) {
    nlohmann::ordered_json report = describe(run);
    report.update({{"metric", "modes"},
                   {"covered", modes.covered},
                   {"modes", modes.modes},
                   {"good_share", modes.good_share},
                   {"samples", options.samples}});
    fmt::print("{}\n", report.dump());
    return;
  }
  print_heading(run);
  fmt::print("modes covered  {} of {}\n", modes.covered, modes.modes);
  fmt::print("good samples   {:.1f} % of {} within 3 sigma of a mode (the data itself: 98.9 %)\n",
             100.0 * modes.good_share, options.samples);
}

}  // namespace

void evaluate(const EvaluateOptions& options) {
  TrainedRun run = open_trained_run(options.run);
  const std::string& source = run.job.data.source;
  if (!source.starts_with(kToyPrefix)) {
    evaluate_images(run, options);
    return;
  }
  const auto mixture = data::toy_mixture(source.substr(kToyPrefix.size()));
  if (!mixture) {
    throw ConfigError("data.source " + source +
                      ": no such toy mixture; use toy:ring8 or toy:grid25");
  }
  evaluate_points(run, *mixture, options);
}

}  // namespace gangway::launch
