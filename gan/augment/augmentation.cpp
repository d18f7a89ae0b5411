// SPDX-License-Identifier: MIT
#include "gan/augment/augmentation.hpp"

#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/augment/diffaugment.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// Returns the statistic of `judge` called `name`.
Statistic& augment_statistic(Network& judge, std::string_view name) {
  for (const Network::NamedStatistic& named : judge.statistics()) {
    if (named.statistic->name == name) {
      return *named.statistic;
    }
  }
  throw InvariantError(fmt::format("network {} has no statistic {}", judge.name(), name));
}

constexpr std::int64_t kNumbers = sizeof(DrawnAugmentation) / sizeof(double);
/// Returns one DrawnAugmentation a picture, on the pictures' device: float64 [N, kNumbers].
at::Tensor drawn_rows(const AugmentChances& chances, const at::Tensor& strength,
                      const RandomKey& key, const at::Tensor& pictures) {
  const PictureShape shape{.channels = pictures.size(1), .side = pictures.size(2)};
  const at::TensorOptions options = at::device(pictures.device()).dtype(at::kDouble);
  if (!pictures.is_cpu() && draw_augmentations_on_device != nullptr) {
    const at::Tensor rows = at::empty({pictures.size(0), kNumbers}, options);
    draw_augmentations_on_device(chances, strength, key, shape, rows);
    return rows;
  }
  const at::Tensor rows = at::empty({pictures.size(0), kNumbers}, at::kDouble);
  const auto p = strength.item<double>();
  for (std::int64_t picture = 0; picture < pictures.size(0); ++picture) {
    const DrawnAugmentation drawn = drawn_augmentation(chances, p, key, picture, shape);
    std::memcpy(rows.mutable_data_ptr<double>() + picture * kNumbers, &drawn, sizeof drawn);
  }
  return rows.to(options);
}

/// Returns the columns of a field: [N, numbers of the field].
template <typename Field>
at::Tensor field_of(const at::Tensor& rows, Field DrawnAugmentation::*field) {
  return rows.narrow(1, place_of(field), sizeof(Field) / sizeof(double));
}

/// Applies `transform` to the pictures with 1 in `is_chosen` [N, 1], with their rows of `numbers`;
/// the others keep their bits. A CPU transforms only the chosen ones. On a GPU nothing is read
/// back, so it transforms all.
template <typename Transform>
at::Tensor transformed_where(const at::Tensor& is_chosen, const at::Tensor& pictures,
                             const at::Tensor& numbers, const Transform& transform) {
  if (!pictures.is_cpu()) {
    return at::where(is_chosen.reshape({-1, 1, 1, 1}) > 0.0, transform(pictures, numbers),
                     pictures);
  }
  const at::Tensor index = is_chosen.flatten().nonzero().flatten();
  if (index.numel() == 0) {
    return pictures;
  }
  if (index.numel() == pictures.size(0)) {
    return transform(pictures, numbers);
  }
  return pictures.index_copy(
      0, index, transform(pictures.index_select(0, index), numbers.index_select(0, index)));
}

at::Tensor with_noise(const at::Tensor& pictures, const at::Tensor& deviations,
                      const RandomKey& key) {
  if (pictures.is_cpu() && !deviations.any().item<bool>()) {
    return pictures;
  }
  RandomKey of_field = key;
  of_field.draw = static_cast<std::int32_t>(RandomDraw::kAugmentNoise);
  of_field.block = 1;  // block 0 draws the deviation
  const at::Tensor deviation = deviations.reshape({-1, 1, 1, 1}).to(pictures.scalar_type());
  const at::Tensor noise = keyed_normal(of_field, pictures.sizes(), pictures.device());
  return at::where(deviation != 0.0, pictures + noise * deviation, pictures);
}

}  // namespace

void add_augment_statistics(Network& judge, const AugmentationSpec& spec) {
  Block& last = judge.block(judge.num_blocks() - 1);
  std::vector<const char*> names{kAugmentSigns, kAugmentStrength};
  if (spec.interval > 1) {
    names.push_back(kAugmentUpdates);
  }
  for (const char* name : names) {
    last.keep(Statistic{.name = name, .running = at::zeros({1}, at::kFloat), .momentum = 1.0});
  }
}

at::Tensor next_strength(const AugmentationSpec& spec, const at::Tensor& images,
                         const at::Tensor& strength, const at::Tensor& signs) {
  const at::Tensor step = images / (spec.kimg * 1000.0);
  return (strength + (signs - spec.target).sign() * step).clamp_min(0.0);
}

at::Tensor Augmentation::strength_of(const at::Tensor& statistic) {
  // An average may fall below 0 by a rounding error.
  return statistic.to(at::kDouble).clamp_min(0.0);
}

Augmentation::Moved Augmentation::moved(Network& judge) const {
  const at::NoGradGuard no_grad;
  const at::Tensor signs = augment_statistic(judge, kAugmentSigns).running.to(at::kDouble);
  const at::Tensor& stored = augment_statistic(judge, kAugmentStrength).running;
  // Sums signs and counts updates until the strength moves.
  const at::Tensor passed = spec_.interval > 1
                                ? augment_statistic(judge, kAugmentUpdates).running.to(at::kDouble)
                                : at::ones({1}, signs.options());
  const at::Tensor moves = passed >= spec_.interval;
  const at::Tensor now = strength_of(stored);
  const at::Tensor next =
      at::where(moves, next_strength(spec_, passed * images_per_update_, now, signs / passed), now);
  return {.strength = next.to(stored.scalar_type()), .moves = moves, .passed = passed};
}

void Augmentation::harvest(Network& judge, const at::Tensor& logits, StatisticSink& sink) const {
  const at::NoGradGuard no_grad;
  const Moved now = moved(judge);
  const Statistic& signs = augment_statistic(judge, kAugmentSigns);
  const at::Tensor seen = logits.sign().mean().reshape({1}).to(signs.running.scalar_type());
  sink.take(signs, at::where(now.moves, seen, seen + signs.running));
  sink.take(augment_statistic(judge, kAugmentStrength), now.strength);
  if (spec_.interval > 1) {
    const Statistic& updates = augment_statistic(judge, kAugmentUpdates);
    sink.take(updates,
              at::where(now.moves, 1.0, now.passed + 1.0).to(updates.running.scalar_type()));
  }
}

at::Tensor Augmentation::augmented(const at::Tensor& pictures, const at::Tensor& strength,
                                   const RandomKey& key) {
  const at::Tensor result = spec_.policy == AugmentPolicy::kDiffAugment
                                ? diff_augmented(pictures, spec_.kinds(), key)
                                : ada_augmented(pictures, strength, key);
  // Returns a new tensor in any case, as every node must.
  return result.is_same(pictures) ? pictures.view_as(pictures)
                                  : result.contiguous(pictures.suggest_memory_format());
}

at::Tensor Augmentation::ada_augmented(const at::Tensor& pictures, const at::Tensor& strength,
                                       const RandomKey& key) {
  using enum AugmentKind;
  const AugmentKinds kinds = spec_.kinds();
  const at::Tensor rows = drawn_rows(chances_of(spec_), strength, key, pictures);
  const auto drawn = [&](auto field) { return field_of(rows, field); };
  const at::Tensor resamples = drawn(&DrawnAugmentation::resamples);
  const at::Tensor geometries = drawn(&DrawnAugmentation::geometry);
  at::Tensor result = pictures;
  if (kinds.has(kBlit)) {
    result = transformed_where(drawn(&DrawnAugmentation::moves_pixels) - resamples, result,
                               geometries, blitted);
  }
  if (kinds.has(kGeometry)) {
    result = transformed_where(resamples, result, geometries,
                               [&](const at::Tensor& some, const at::Tensor& geometry) {
                                 return resampled(some, geometry, filters_of(some));
                               });
  }
  if (kinds.has(kColor)) {
    result = transformed_where(drawn(&DrawnAugmentation::changes_colors), result,
                               drawn(&DrawnAugmentation::colors), recolored);
  }
  if (kinds.has(kFilter)) {
    result = transformed_where(drawn(&DrawnAugmentation::filters), result,
                               drawn(&DrawnAugmentation::gains),
                               [&](const at::Tensor& some, const at::Tensor& gains) {
                                 return band_filtered(some, gains, filters_of(some));
                               });
  }
  if (kinds.has(kNoise)) {
    result = with_noise(result, drawn(&DrawnAugmentation::noise), key);
  }
  if (kinds.has(kCutout)) {
    result = transformed_where(drawn(&DrawnAugmentation::cuts_out), result,
                               drawn(&DrawnAugmentation::cutout), cut_out);
  }
  return result;
}

const AxisFilters& Augmentation::filters_of(const at::Tensor& pictures) {
  if (!filters_ || filters_->side != pictures.size(2) ||
      filters_->up.device() != pictures.device()) {
    filters_.emplace(pictures.size(2), pictures.device());
  }
  return *filters_;
}

}  // namespace gangway::gan
