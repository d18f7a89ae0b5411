// SPDX-License-Identifier: MIT
#include "launch/model/image_scores.hpp"

#include <algorithm>
#include <utility>

#include "gan/evaluation/generate.hpp"
#include "launch/model/feature_weights.hpp"

namespace gangway::launch {
namespace {

/// Of each set, for precision and recall: the time for all pairs grows with its square, and this
/// takes seconds.
constexpr std::int64_t kNeighbourSamples = 5'000;

gan::Network untrained_generator(const JobSpec& job) {
  gan::NetworkPair networks = gan::build_networks(job);
  networks.generator.initialise(job.training.seed);
  return std::move(networks.generator);
}

}  // namespace

ImageScorer::ImageScorer(const ReferenceData& data, const EvaluateOptions& options)
    : data_(data), samples_(options.samples) {
  load_feature_weights(lenet_, options.features);
  reference_ = gan::lenet_features(lenet_, data.reference, data.count);
  statistics_ = gan::feature_statistics(reference_);
}

at::Tensor ImageScorer::features_of(gan::Network& generator, const ModelSpec& model) {
  return gan::lenet_features(lenet_, gan::evaluation_samples(generator, model, kEvaluationSeed),
                             samples_);
}

double ImageScorer::distance(const at::Tensor& features) const {
  return gan::frechet_distance(gan::feature_statistics(features), statistics_);
}

double ImageScorer::distance_of(TrainedRun& run) {
  return distance(features_of(run.generator, run.job.model));
}

ImageScores ImageScorer::scores_of(TrainedRun& run) {
  const at::Tensor generated = features_of(run.generator, run.job.model);
  const at::Tensor held_back = gan::lenet_features(lenet_, data_.held_back, data_.count);
  gan::Network untrained = untrained_generator(run.job);
  ImageScores scores{.distance = {.score = distance(generated),
                                  .floor = distance(held_back),
                                  .ceiling = distance(features_of(untrained, run.job.model))},
                     .neighbour_samples = std::min({kNeighbourSamples, samples_, data_.count})};
  const auto part = [&](const at::Tensor& features) {
    return features.slice(0, 0, scores.neighbour_samples);
  };
  scores.generated = gan::precision_recall(part(reference_), part(generated));
  scores.held_back = gan::precision_recall(part(reference_), part(held_back));
  if (run.job.data.source == "fashion-mnist") {
    scores.shares = {.generated = gan::class_shares(lenet_, generated),
                     .real = gan::class_shares(lenet_, reference_)};
  }
  return scores;
}

}  // namespace gangway::launch
