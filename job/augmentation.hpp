// SPDX-License-Identifier: MIT
// What is done to pictures before a discriminator judges them (training.augment), as a value.
// Nothing but the standard library behind it.
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

/// With respect to which pictures R1 and R2 take the discriminator's gradient.
enum class PenalisedPictures {
  kAugmented,  ///< as the discriminator is shown them
  kOriginal,   ///< as they were before: the gradient goes through the augmentation
};

/// By kind, what p is multiplied by.
using AugmentMultipliers = std::array<double, kNumAugmentKinds>;
inline constexpr AugmentMultipliers kNoMultipliers = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

/// A set of them.
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
  /// Whether it has nothing that `allowed` has not.
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

/// All that `policy` has, and what it does where a job does not choose: those that the paper's
/// authors train with ("bgc"; all three of DiffAugment's).
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

/// Names of a discriminator's statistics where its strength adapts, within its last block; the
/// strength has it in passes, too.
inline constexpr const char* kAugmentSigns = "augment.signs";
inline constexpr const char* kAugmentStrength = "augment.strength";
/// Where the strength does not move in every update: how many have passed since it did.
inline constexpr const char* kAugmentUpdates = "augment.updates";

struct AugmentationSpec {
  AugmentPolicy policy = AugmentPolicy::kNone;
  AugmentKinds chosen = {};  ///< empty: the usual ones
  /// p, with which each transformation of ADA is done, or nothing: it adapts.
  std::optional<double> strength = {};
  ScheduleSpec schedule = {};  ///< of a strength that does not adapt, which is what it begins with
  double target = 0.6;         ///< of the mean sign of real pictures' logits; p rises above it
  double kimg = 500.0;         ///< over which p would go from 0 to 1
  int interval = 1;            ///< updates from one move of p to the next
  AugmentMultipliers multipliers = kNoMultipliers;  ///< of ADA's kinds
  PenalisedPictures penalised = PenalisedPictures::kAugmented;

  [[nodiscard]] bool is_any() const { return policy != AugmentPolicy::kNone; }
  [[nodiscard]] bool is_adaptive() const {
    return policy == AugmentPolicy::kAda && !strength.has_value();
  }
  /// Whether it has a strength that is not to adapt.
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
