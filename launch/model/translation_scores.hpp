// SPDX-License-Identifier: MIT
// What `evaluate` says of a generator that makes pictures of pictures, and which pictures `sample`
// shows of it. Main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gan/data/dataset.hpp"
#include "gan/evaluation/lenet.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Means over pairs.
struct LikenessScores {
  double difference = 0.0;  ///< L1, of shades in [0, 255]
  double similarity = 0.0;  ///< SSIM
};

struct TranslationScores {
  LikenessScores generated;  ///< of what was made and what should have been
  LikenessScores given;      ///< of what it was made of and what should have been: doing nothing
  std::int64_t pairs = 0;
  bool is_held_out = false;  ///< whether training has not seen them
};

/// The held-out part of the job's source, or where there is none what it is trained on.
struct ShownPairs {
  std::unique_ptr<data::Dataset> dataset;
  bool is_held_out = false;
};
[[nodiscard]] ShownPairs open_shown_pairs(const JobSpec& job);

/// Of test images of one class of Fashion-MNIST that are to become another: shares that the
/// classifier takes for the other.
struct ClassTranslationScores {
  double generated = 0.0;  ///< of what was made
  double given = 0.0;      ///< of what it was made of
  double real = 0.0;       ///< of pictures of the other class
  std::string kind;        ///< the other class
  std::int64_t pictures = 0;
};
/// Whether they can be computed: of a job on two classes of clothes.
[[nodiscard]] bool translates_clothes(const JobSpec& job);
/// @pre translates_clothes(job)
[[nodiscard]] ClassTranslationScores class_translation_scores(gan::Network& generator,
                                                              const JobSpec& job, gan::LeNet& lenet,
                                                              std::int64_t most);

/// @param most  pairs that are looked at, the first ones
/// @throws ConfigError where the source has no pairs
[[nodiscard]] TranslationScores translation_scores(gan::Network& generator, const JobSpec& job,
                                                   std::int64_t most);

}  // namespace gangway::launch
