// SPDX-License-Identifier: MIT
// Augments the pictures, real or generated, that a discriminator sees, and adapts the strength p to
// its outputs on real pictures. An adaptive strength and its sign are statistics of the
// discriminator, folded, stored and hashed as all others: every worker has the same p.
//
// A picture without a transformation keeps its bits. Compute thread.
#pragma once

#include <optional>

#include "gan/augment/picture_transforms.hpp"
#include "gan/network.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {

/// Adds the statistics of an adaptive strength to `judge`. Their momentum is 1: they hold the
/// values of the last update.
void add_augment_statistics(Network& judge, const AugmentationSpec& spec);

/// Returns the next p after updates with `images` real pictures began with `strength` (Karras et
/// al., 2020, section 3.1, r_t). `signs` is the mean sign of their logits. p is at least 0 and may
/// exceed 1, as in the authors' code, so that multipliers below 1 take effect. All tensors are
/// float64 of one shape.
[[nodiscard]] at::Tensor next_strength(const AugmentationSpec& spec, const at::Tensor& images,
                                       const at::Tensor& strength, const at::Tensor& signs);

/// Fills `out`, float64 [N, numbers of DrawnAugmentation], on a device with the CPU's draws, except
/// for the rounding of exp2. Weak: defined in programs that compute on a GPU
/// (gan/cuda/random_on_device.cpp), null in all others.
/// @param strength  float64, one number on that device
[[gnu::weak]] void draw_augmentations_on_device(const AugmentChances& chances,
                                                const at::Tensor& strength, const RandomKey& key,
                                                const PictureShape& shape, const at::Tensor& out);

class Augmentation {
 public:
  /// @param images_per_update  real pictures in an update of the discriminator
  Augmentation(const AugmentationSpec& spec, double images_per_update)
      : spec_(spec), images_per_update_(images_per_update) {}

  /// Augments `pictures` [N, C, S, S], C 1 or 3; keeps memory format and gradients. Reads nothing
  /// back from a device, so the work can be captured and replayed.
  /// @param strength  p, at least 0; float64, one number on the pictures' device
  /// @param key  of the micro-batch; sets its `draw` and `block`
  [[nodiscard]] at::Tensor augmented(const at::Tensor& pictures, const at::Tensor& strength,
                                     const RandomKey& key);

  /// Returns the strength held by a judge's statistic [1], at least 0: float64 [1].
  [[nodiscard]] static at::Tensor strength_of(const at::Tensor& statistic);
  /// Returns the job's strength if it does not adapt.
  [[nodiscard]] double fixed_strength() const { return spec_.strength.value_or(1.0); }
  /// An adaptive strength before an update of the judge, moved if `interval` updates have passed.
  struct Moved {
    at::Tensor strength;  ///< [1], of the statistic's type; the step's strength
    at::Tensor moves;     ///< bool [1]: whether this update moved it
    at::Tensor passed;    ///< float64 [1]: updates since the previous move
  };
  /// @pre the strength adapts, and `judge` has the statistics
  [[nodiscard]] Moved moved(Network& judge) const;
  /// Gives `sink` the signs of `judge`'s logits for real pictures of a micro-batch. Also gives it
  /// the strength of moved(), which is the same for all micro-batches.
  /// @pre as above
  void harvest(Network& judge, const at::Tensor& logits, StatisticSink& sink) const;

 private:
  [[nodiscard]] at::Tensor ada_augmented(const at::Tensor& pictures, const at::Tensor& strength,
                                         const RandomKey& key);
  [[nodiscard]] const AxisFilters& filters_of(const at::Tensor& pictures);

  AugmentationSpec spec_;
  double images_per_update_;
  std::optional<AxisFilters> filters_;  // made at first use
};

}  // namespace gangway::gan
