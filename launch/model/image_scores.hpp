// SPDX-License-Identifier: MIT
// Computes every score that `evaluate` prints for an image generator, from one set of features.
// Main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/store/scores.hpp"
#include "gan/evaluation/class_shares.hpp"
#include "gan/evaluation/frechet.hpp"
#include "gan/evaluation/kernel_distance.hpp"
#include "gan/evaluation/precision_recall.hpp"
#include "gan/evaluation/sliced_wasserstein.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {

/// Seed of the noise for generated examples: the same for every job.
inline constexpr std::uint64_t kEvaluationSeed = 0;

/// Returns the run's examples for evaluation: TrainedRun::made, or else what its network makes.
/// `run` must outlive the source. It throws DivergedError for values that are not finite.
[[nodiscard]] gan::ImageSource evaluation_samples(TrainedRun& run);

struct ClassShareScores {
  gan::ClassShares generated;
  gan::ClassShares real;
  std::optional<double> right;  ///< share of images with the requested class; nullopt: no labels
};

/// Scores of one set of images against the reference set.
struct SetScores {
  double distance = 0.0;  ///< Fréchet distance
  gan::KernelDistance kernel;
  gan::PrecisionRecall neighbours;
};

struct ImageScores {
  SetScores generated;
  std::optional<SetScores> held_back;  ///< of other real images: the score of a perfect generator
  double ceiling = 0.0;                ///< distance of the same networks before training
  std::int64_t neighbour_samples = 0;  ///< images per set, for precision and recall
  std::optional<ClassShareScores> shares;  ///< only for data that the classifier knows
  gan::SlicedDistance sliced;
  std::optional<double> sliced_held_back;  ///< mean over levels, as sliced_ceiling
  double sliced_ceiling = 0.0;
};

class ImageScorer {
 public:
  /// @param data  must outlive the scorer. @param samples  number of generated images
  ImageScorer(const ReferenceData& data, FeatureNetwork network, std::int64_t samples);

  /// Returns only these scores, in this order.
  [[nodiscard]] std::vector<checkpoint::NamedScore> scores_of(TrainedRun& run,
                                                              std::span<const Metric> metrics);
  [[nodiscard]] ImageScores scores_of(TrainedRun& run);

 private:
  void look_at_reference();
  [[nodiscard]] at::Tensor features_of(const gan::ImageSource& images, std::int64_t count);
  [[nodiscard]] double distance(const at::Tensor& features) const;
  [[nodiscard]] gan::SlicedDistance sliced(const gan::ImageSource& images);
  /// Returns the size that all sets can have, `most` at most.
  [[nodiscard]] std::int64_t images_per_set(std::int64_t most) const;
  [[nodiscard]] gan::PrecisionRecall neighbours_of(const at::Tensor& features) const;
  [[nodiscard]] SetScores compare(const at::Tensor& features) const;

  const ReferenceData& data_;
  FeatureNetwork network_;
  std::int64_t samples_;
  std::vector<at::Tensor> reference_patches_;  ///< empty until the first score
  at::Tensor reference_;                       ///< features; undefined until the first score
  gan::FeatureStatistics statistics_;
};

}  // namespace gangway::launch
