// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/scores.hpp"
#include "gan/data/toy.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/toy_modes.hpp"
#include "job/errors.hpp"
#include "job/run_directory.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_weights.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {
namespace {

constexpr std::uint64_t kNoiseSeed = 0;  // of the evaluation's noise: the same for every job
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

/// The distance of other images from the real ones.
class FdLenet {
 public:
  FdLenet(const ReferenceData& data, const EvaluateOptions& options) : samples_(options.samples) {
    load_feature_weights(lenet_, options.features);
    reference_ = gan::lenet_statistics(lenet_, data.reference, data.count);
  }

  [[nodiscard]] double of_generator(gan::Network& generator, const ModelSpec& model) {
    return of_images(gan::evaluation_samples(generator, model, kNoiseSeed), samples_);
  }
  [[nodiscard]] double of_images(const gan::ImageSource& images, std::int64_t count) {
    return gan::frechet_distance(gan::lenet_statistics(lenet_, images, count), reference_);
  }

 private:
  std::int64_t samples_;
  gan::LeNet lenet_;
  gan::FeatureStatistics reference_;
};

double ceiling_of(FdLenet& distance, const JobSpec& job) {
  gan::NetworkPair untrained = gan::build_networks(job);
  untrained.generator.initialise(job.training.seed);
  return distance.of_generator(untrained.generator, job.model);
}

void evaluate_images(TrainedRun& run, const EvaluateOptions& options) {
  const ReferenceData data = open_reference_data(run.job);
  FdLenet distance(data, options);
  const double score = distance.of_generator(run.generator, run.job.model);
  if (options.format == OutputFormat::kRecord) {
    record(run, options,
           {.metric = kImageMetric, .value = score, .better = checkpoint::Better::kLower});
    return;
  }
  const gan::FdLenetScore result{.score = score,
                                 .floor = distance.of_images(data.held_back, data.count),
                                 .ceiling = ceiling_of(distance, run.job)};
  if (options.format == OutputFormat::kJson) {
    nlohmann::ordered_json report = describe(run);
    report.update({{"metric", kImageMetric},
                   {"score", result.score},
                   {"floor", result.floor},
                   {"ceiling", result.ceiling},
                   {"samples", options.samples},
                   {"reference", data.description},
                   {"features", kFeatureWeightsHash}});
    fmt::print("{}\n", report.dump());
    return;
  }
  print_heading(run);
  fmt::print("FD-LeNet {:8.2f}  {} generated against {}\n", result.score, options.samples,
             data.description);
  fmt::print("floor    {:8.2f}  {} other real images against the same\n", result.floor, data.count);
  fmt::print("ceiling  {:8.2f}  the generator before its training against the same\n",
             result.ceiling);
}

at::Tensor toy_points(TrainedRun& run, std::int64_t samples) {
  return gan::evaluation_samples(run.generator, run.job.model, kNoiseSeed)(0, samples).contiguous();
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
