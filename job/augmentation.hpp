// SPDX-License-Identifier: MIT
// Augmentation of the pictures that a discriminator judges (training.augment), as a value. Standard
// library alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "job/schedules/schedule.hpp"

namespace gangway {

enum class AugmentPolicy {
  kNone,
  kAda,          ///< Karras et al., 2020, "Training GANs with limited data", appendix B
  kDiffAugment,  ///< Zhao et al., 2020
};

/// Groups of transformations.
enum class AugmentKind { kBlit, kGeometry, kColor, kFilter, kNoise, kCutout, kTranslation };
inline constexpr std::size_t kNumAugmentKinds = 7;

/// Pictures at which R1 and R2 take the discriminator's gradient.
enum class PenalisedPictures {
  kAugmented,  ///< as the discriminator sees them
  kOriginal,   ///< as before augmentation: the gradient passes through the augmentation
};

/// Factors on p, by kind of transformation.
using AugmentMultipliers = std::array<double, kNumAugmentKinds>;
inline constexpr AugmentMultipliers kNoMultipliers = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

/// A set of transformation kinds.
class AugmentKinds {
 public:
  constexpr AugmentKinds() = default;
  constexpr AugmentKinds(std::initializer_list<AugmentKind> kinds) {
    for (const AugmentKind kind : kinds) {
      add(kind);
    }
  }
  constexpr void add(AugmentKind kind) { bits_ |= bit_of(kind); }
  [[nodiscard]] constexpr bool has(AugmentKind kind) const { return (bits_ & bit_of(kind)) != 0; }
  [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
  /// Returns whether every kind of this set is in `allowed` too.
  [[nodiscard]] constexpr bool is_within(AugmentKinds allowed) const {
    return (bits_ & ~allowed.bits_) == 0;
  }
  constexpr bool operator==(const AugmentKinds&) const = default;

 private:
  static constexpr std::uint32_t bit_of(AugmentKind kind) {
    return std::uint32_t{1} << static_cast<unsigned>(kind);
  }
  std::uint32_t bits_ = 0;
};

/// Returns all kinds that `policy` has. usual_kinds() returns the paper's choice, for a job without
/// one ("bgc" of ADA; all three of DiffAugment).
[[nodiscard]] constexpr AugmentKinds available_kinds(AugmentPolicy policy) {
  using enum AugmentKind;
  switch (policy) {
    case AugmentPolicy::kNone:
      break;
    case AugmentPolicy::kAda:
      return {kBlit, kGeometry, kColor, kFilter, kNoise, kCutout};
    case AugmentPolicy::kDiffAugment:
      return {kColor, kCutout, kTranslation};
  }
  return {};
}
[[nodiscard]] constexpr AugmentKinds usual_kinds(AugmentPolicy policy) {
  using enum AugmentKind;
  return policy == AugmentPolicy::kAda ? AugmentKinds{kBlit, kGeometry, kColor}
                                       : available_kinds(policy);
}

/// Names of two statistics in the discriminator's last block while p adapts. Passes name the
/// strength so, too.
inline constexpr const char* kAugmentSigns = "augment.signs";
inline constexpr const char* kAugmentStrength = "augment.strength";
/// Statistic: updates since p last moved, if p does not move in every update.
inline constexpr const char* kAugmentUpdates = "augment.updates";

struct AugmentationSpec {
  AugmentPolicy policy = AugmentPolicy::kNone;
  AugmentKinds chosen = {};  ///< empty: usual_kinds()
  /// Probability p of each ADA transformation; nothing: p adapts.
  std::optional<double> strength = {};
  ScheduleSpec schedule = {};  ///< of a strength that does not adapt, from `strength` on
  double target = 0.6;         ///< for the mean sign of real pictures' logits; p rises above it
  double kimg = 500.0;         ///< thousand images in which p can rise from 0 to 1
  int interval = 1;            ///< updates between two moves of p
  AugmentMultipliers multipliers = kNoMultipliers;  ///< factors on p, by kind, of ADA
  PenalisedPictures penalised = PenalisedPictures::kAugmented;

  [[nodiscard]] bool is_any() const { return policy != AugmentPolicy::kNone; }
  [[nodiscard]] bool is_adaptive() const {
    return policy == AugmentPolicy::kAda && !strength.has_value();
  }
  /// Returns whether the job fixes the strength, so that it does not adapt.
  [[nodiscard]] bool has_number() const {
    return policy == AugmentPolicy::kAda && strength.has_value();
  }
  [[nodiscard]] double multiplier(AugmentKind kind) const {
    return multipliers[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] AugmentKinds kinds() const {
    return chosen.is_empty() ? usual_kinds(policy) : chosen;
  }
  bool operator==(const AugmentationSpec&) const = default;
};

}  // namespace gangway
