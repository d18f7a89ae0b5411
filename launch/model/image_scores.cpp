// SPDX-License-Identifier: MIT
#include "launch/model/image_scores.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/evaluation/generate.hpp"

namespace gangway::launch {
namespace {

/// Images of each set for precision and recall: the time grows with the square; 5,000 take seconds.
constexpr std::int64_t kNeighbourSamples = 5'000;
/// Pictures per set, and patches of each: the paper uses 16,384 and 128, which take minutes.
constexpr std::int64_t kSlicedPictures = 2'048;
constexpr std::int64_t kSlicedPatches = 32;

gan::Network untrained_generator(const JobSpec& job, at::Device device) {
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  gan::Network& generator = networks[job.shown_network()];
  generator.initialise(job.training.seed);
  place_on(device, generator);
  return std::move(generator);
}

}  // namespace

gan::ImageSource evaluation_samples(TrainedRun& run) {
  if (!run.made.defined()) {
    return [source = gan::evaluation_samples(run.network, run.job.model, kEvaluationSeed), &run](
               std::int64_t first, std::int64_t count) {
      at::Tensor made = source(first, count);
      if (!at::isfinite(made).all().item<bool>()) {
        throw DivergedError(
            fmt::format("{}: the {} makes values that are not finite at step {}; name an earlier "
                        "checkpoint by --step",
                        run.directory.string(), run.network.name(), run.step));
      }
      return made;
    };
  }
  return [made = run.made](std::int64_t first, std::int64_t count) {
    return made.narrow(0, first, count);
  };
}

ImageScorer::ImageScorer(const ReferenceData& data, FeatureNetwork network, std::int64_t samples)
    : data_(data), network_(std::move(network)), samples_(samples) {}

void ImageScorer::look_at_reference() {
  if (!reference_.defined()) {
    reference_ = features_of(data_.reference, data_.count);
    statistics_ = gan::feature_statistics(reference_);
  }
}

gan::SlicedDistance ImageScorer::sliced(const gan::ImageSource& images) {
  const auto patches = [&](const gan::ImageSource& of) {
    return gan::pyramid_patches(of, images_per_set(kSlicedPictures), kSlicedPatches,
                                kEvaluationSeed);
  };
  if (reference_patches_.empty()) {
    reference_patches_ = patches(data_.reference);
  }
  return gan::sliced_distance(patches(images), reference_patches_, kEvaluationSeed);
}

at::Tensor ImageScorer::features_of(const gan::ImageSource& images, std::int64_t count) {
  return gan::image_features(network_.features, images, count, network_.batch);
}

double ImageScorer::distance(const at::Tensor& features) const {
  return gan::frechet_distance(gan::feature_statistics(features), statistics_);
}

std::int64_t ImageScorer::images_per_set(std::int64_t most) const {
  most = std::min({most, samples_, data_.count});
  return data_.held_back_count > 0 ? std::min(most, data_.held_back_count) : most;
}

gan::PrecisionRecall ImageScorer::neighbours_of(const at::Tensor& features) const {
  const auto part = [count = images_per_set(kNeighbourSamples)](const at::Tensor& all) {
    return all.slice(0, 0, count);
  };
  return gan::precision_recall(part(reference_), part(features));
}

SetScores ImageScorer::compare(const at::Tensor& features) const {
  return {.distance = distance(features),
          .kernel = gan::kernel_distance(reference_, features),
          .neighbours = neighbours_of(features)};
}

std::vector<checkpoint::NamedScore> ImageScorer::scores_of(TrainedRun& run,
                                                           std::span<const Metric> metrics) {
  const gan::ImageSource samples = evaluation_samples(run);
  at::Tensor generated;
  if (std::ranges::any_of(metrics, [](Metric metric) { return metric != Metric::kSwd; })) {
    look_at_reference();
    generated = features_of(samples, samples_);
  }
  std::vector<checkpoint::NamedScore> scores;
  for (const Metric metric : metrics) {
    switch (metric) {
      case Metric::kSwd:
        scores.push_back({"SWD", sliced(samples).mean});
        break;
      case Metric::kFd:
        scores.push_back({network_.distance, distance(generated)});
        break;
      case Metric::kKid:
        scores.push_back(
            {network_.kernel_distance, gan::kernel_distance(reference_, generated).mean});
        break;
      case Metric::kPr: {
        const gan::PrecisionRecall neighbours = neighbours_of(generated);
        scores.push_back({"precision", neighbours.precision, checkpoint::Better::kHigher});
        scores.push_back({"recall", neighbours.recall, checkpoint::Better::kHigher});
        break;
      }
    }
  }
  return scores;
}

ImageScores ImageScorer::scores_of(TrainedRun& run) {
  look_at_reference();
  const gan::ImageSource samples = evaluation_samples(run);
  const at::Tensor generated = features_of(samples, samples_);
  gan::Network network = untrained_generator(run.job, run.network.device());
  const gan::ImageSource untrained =
      gan::evaluation_samples(network, run.job.model, kEvaluationSeed);
  ImageScores scores{.ceiling = distance(features_of(untrained, samples_)),
                     .neighbour_samples = images_per_set(kNeighbourSamples)};
  if (data_.held_back_count > 0) {
    scores.held_back = compare(features_of(data_.held_back, data_.held_back_count));
  }
  scores.generated = compare(generated);
  scores.sliced = sliced(samples);
  scores.sliced_ceiling = sliced(untrained).mean;
  if (data_.held_back_count > 0) {
    scores.sliced_held_back = sliced(data_.held_back).mean;
  }
  if (network_.lenet && run.job.data.source == "fashion-mnist") {
    scores.shares = {.generated = gan::class_shares(*network_.lenet, generated),
                     .real = gan::class_shares(*network_.lenet, reference_)};
    if (run.job.model.classes > 0) {
      scores.shares->right = gan::right_class_share(
          *network_.lenet, generated,
          gan::evaluation_labels(run.job.model, kEvaluationSeed, generated.size(0)));
    }
  }
  return scores;
}

}  // namespace gangway::launch
