// SPDX-License-Identifier: MIT
// Every number that `evaluate` prints about a generator of images, from one set of features. Main
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/store/scores.hpp"
#include "gan/evaluation/class_shares.hpp"
#include "gan/evaluation/kernel_distance.hpp"
#include "gan/evaluation/precision_recall.hpp"
#include "gan/evaluation/sliced_wasserstein.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {

/// Noise of the generated examples: the same for every job.
inline constexpr std::uint64_t kEvaluationSeed = 0;

struct ClassShareScores {
  gan::ClassShares generated;
  gan::ClassShares real;
  std::optional<double> right;  ///< of generated ones, where a class was asked for
};

/// Of one set of images against the reference.
struct SetScores {
  double distance = 0.0;  ///< Fréchet
  gan::KernelDistance kernel;
  gan::PrecisionRecall neighbours;
};

struct ImageScores {
  SetScores generated;
  std::optional<SetScores> held_back;  ///< of other real images: what a perfect generator would get
  double ceiling = 0.0;                ///< distance of the same networks before their training
  std::int64_t neighbour_samples = 0;  ///< of each set, for precision and recall
  std::optional<ClassShareScores> shares;  ///< of the data that the classifier knows
  gan::SlicedDistance sliced;
  std::optional<double> sliced_held_back;  ///< its mean over levels, as is the next
  double sliced_ceiling = 0.0;
};

class ImageScorer {
 public:
  /// `data` outlives it. @param samples  generated images
  ImageScorer(const ReferenceData& data, FeatureNetwork network, std::int64_t samples);

  /// Those alone, in that order.
  [[nodiscard]] std::vector<checkpoint::NamedScore> scores_of(TrainedRun& run,
                                                              std::span<const Metric> metrics);
  [[nodiscard]] ImageScores scores_of(TrainedRun& run);

 private:
  void look_at_reference();
  [[nodiscard]] at::Tensor features_of(gan::Network& generator, const ModelSpec& model);
  [[nodiscard]] at::Tensor features_of(const gan::ImageSource& images, std::int64_t count);
  [[nodiscard]] double distance(const at::Tensor& features) const;
  [[nodiscard]] gan::SlicedDistance sliced(const gan::ImageSource& images);
  /// Of each set, for precision and recall.
  [[nodiscard]] std::int64_t neighbour_samples() const;
  [[nodiscard]] gan::PrecisionRecall neighbours_of(const at::Tensor& features) const;
  [[nodiscard]] SetScores compare(const at::Tensor& features) const;

  const ReferenceData& data_;
  FeatureNetwork network_;
  std::int64_t samples_;
  std::int64_t sliced_pictures_;
  std::vector<at::Tensor> reference_patches_;  ///< none until the first score
  at::Tensor reference_;                       ///< features; undefined likewise
  gan::FeatureStatistics statistics_;
};

}  // namespace gangway::launch
