// SPDX-License-Identifier: MIT
// Augmentation as a job has it: pictures, real or generated, as a discriminator is to see them, and
// the strength that follows from what it says of real ones. Where that adapts, both are statistics
// of the discriminator, folded, stored and hashed as all are: every worker has the same p.
//
// A picture that nothing happens to keeps its bits. Compute thread.
#pragma once

#include <optional>

#include "gan/augment/picture_transforms.hpp"
#include "gan/network.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {

/// Gives `judge` the statistics of an adaptive strength. Both have momentum 1: what they are is
/// what the last update saw.
void add_augment_statistics(Network& judge, const AugmentationSpec& spec);

/// p where updates that saw `images` real pictures began with `strength`, and the mean sign of
/// logits in them was `signs` (Karras et al., 2020, section 3.1, r_t). At least 0, and as in the
/// authors' code above 1 where they say so: then multipliers below 1 have their effect. All of them
/// float64 of one shape.
[[nodiscard]] at::Tensor next_strength(const AugmentationSpec& spec, const at::Tensor& images,
                                       const at::Tensor& strength, const at::Tensor& signs);

/// Fills `out`, float64 [N, numbers of DrawnAugmentation] on a device, with what the CPU draws, but
/// for the rounding of exp2. There in programs that compute on a GPU
/// (gan/cuda/random_on_device.cpp), null in all others.
/// @param strength  float64, one number on that device
[[gnu::weak]] void draw_augmentations_on_device(const AugmentChances& chances,
                                                const at::Tensor& strength, const RandomKey& key,
                                                const PictureShape& shape, const at::Tensor& out);

class Augmentation {
 public:
  /// @param images_per_update  real pictures that an update of the discriminator sees
  Augmentation(const AugmentationSpec& spec, double images_per_update)
      : spec_(spec), images_per_update_(images_per_update) {}

  /// `pictures` [N, C, S, S], C 1 or 3, in their memory format. With gradients where they
  /// have some. A device is told what to do and never asked: it may repeat that for other draws.
  /// @param strength  p, at least 0; float64, one number where the pictures are
  /// @param key  of the micro-batch; its `draw` and `block` are filled in here
  [[nodiscard]] at::Tensor augmented(const at::Tensor& pictures, const at::Tensor& strength,
                                     const RandomKey& key);

  /// The strength that a judge's statistic [1] says, at least 0: float64 [1].
  [[nodiscard]] static at::Tensor strength_of(const at::Tensor& statistic);
  /// The job's, where it does not adapt.
  [[nodiscard]] double fixed_strength() const { return spec_.strength.value_or(1.0); }
  /// An adaptive strength before an update of the judge, moved where `interval` updates have
  /// passed.
  struct Moved {
    at::Tensor strength;  ///< [1], of the statistic's type: what the step augments with
    at::Tensor moves;     ///< bool [1]: whether it was moved just now
    at::Tensor passed;    ///< float64 [1]: updates since it was, before
  };
  /// @pre the strength adapts, and `judge` has the statistics
  [[nodiscard]] Moved moved(Network& judge) const;
  /// Tells `sink` what `judge` has said of real pictures of a micro-batch, and moved()'s strength,
  /// which is the same whichever micro-batch asks.
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
