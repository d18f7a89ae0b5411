// SPDX-License-Identifier: MIT
#include "gan/augment/augmentation.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/augment/diffaugment.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// The statistic of `judge` called `name`.
Statistic& augment_statistic(Network& judge, std::string_view name) {
  for (const Network::NamedStatistic& named : judge.statistics()) {
    if (named.statistic->name == name) {
      return *named.statistic;
    }
  }
  throw InvariantError(fmt::format("network {} has no statistic {}", judge.name(), name));
}

using Drawn = std::vector<DrawnAugmentation>;

Drawn all_drawn(const AugmentationSpec& spec, double strength, const RandomKey& key,
                const at::Tensor& pictures) {
  Drawn drawn;
  const PictureShape shape{.channels = pictures.size(1), .side = pictures.size(2)};
  for (std::int64_t picture = 0; picture < pictures.size(0); ++picture) {
    drawn.push_back(drawn_augmentation(spec, strength, key, picture, shape));
  }
  return drawn;
}

/// `transform` of those pictures for which `is_chosen` holds, with what `field` has of them; the
/// others keep their bits.
template <typename Field, typename Transform>
at::Tensor transformed_where(const at::Tensor& pictures, const Drawn& drawn,
                             bool (*is_chosen)(const DrawnAugmentation&), Field field,
                             const Transform& transform) {
  std::vector<std::int64_t> chosen;
  std::vector<std::remove_cvref_t<decltype(field(drawn.front()))>> values;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (is_chosen(drawn[i])) {
      chosen.push_back(static_cast<std::int64_t>(i));
      values.push_back(field(drawn[i]));
    }
  }
  if (chosen.empty()) {
    return pictures;
  }
  if (chosen.size() == drawn.size()) {
    return transform(pictures, values);
  }
  const at::Tensor index = at::tensor(chosen).to(pictures.device());
  return pictures.index_copy(0, index, transform(pictures.index_select(0, index), values));
}

bool is_blitted(const DrawnAugmentation& drawn) { return drawn.moves_pixels && !drawn.resamples; }
bool is_resampled(const DrawnAugmentation& drawn) { return drawn.resamples; }
bool is_recolored(const DrawnAugmentation& drawn) { return drawn.changes_colors; }
bool is_filtered(const DrawnAugmentation& drawn) { return drawn.filters; }
bool is_cut_out(const DrawnAugmentation& drawn) { return drawn.cutout.has_value(); }

at::Tensor with_noise(const at::Tensor& pictures, const Drawn& drawn, const RandomKey& key) {
  if (std::ranges::all_of(drawn, [](const DrawnAugmentation& one) { return one.noise == 0.0; })) {
    return pictures;
  }
  std::vector<double> deviations;
  for (const DrawnAugmentation& one : drawn) {
    deviations.push_back(one.noise);
  }
  RandomKey of_field = key;
  of_field.draw = static_cast<std::int32_t>(RandomDraw::kAugmentNoise);
  of_field.block = 1;  // 0 says how strong it is
  const at::Tensor deviation = at::tensor(deviations).reshape({-1, 1, 1, 1}).to(pictures.options());
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

double next_strength(const AugmentationSpec& spec, double images, double strength, double signs) {
  const double step = images / (spec.kimg * 1000.0);
  const double direction = signs > spec.target ? 1.0 : signs < spec.target ? -1.0 : 0.0;
  return std::max(strength + direction * step, 0.0);
}

double Augmentation::strength_of(const at::Tensor& statistic) {
  // Of an average that is off by a rounding.
  return std::max(static_cast<double>(statistic.item<float>()), 0.0);
}

void Augmentation::harvest(Network& judge, const at::Tensor& logits, StatisticSink& sink) const {
  const at::NoGradGuard no_grad;
  const Statistic& signs = augment_statistic(judge, kAugmentSigns);
  const Statistic& strength = augment_statistic(judge, kAugmentStrength);
  const at::Tensor seen = logits.sign().mean().reshape({1}).to(signs.running.scalar_type());
  // Signs add up, and updates are counted, until the strength moves.
  const Statistic* updates =
      spec_.interval > 1 ? &augment_statistic(judge, kAugmentUpdates) : nullptr;
  const double passed = updates != nullptr ? updates->running.item<float>() : 1.0;
  const bool moves = passed >= spec_.interval;
  const double now = strength_of(strength.running);
  const double next = moves
                          ? next_strength(spec_, passed * images_per_update_, now,
                                          static_cast<double>(signs.running.item<float>()) / passed)
                          : now;
  sink.take(signs, moves ? seen : seen + signs.running);
  sink.take(strength, at::full({1}, next, strength.running.options()));
  if (updates != nullptr) {
    sink.take(*updates, at::full({1}, moves ? 1.0 : passed + 1.0, updates->running.options()));
  }
}

at::Tensor Augmentation::augmented(const at::Tensor& pictures, double strength,
                                   const RandomKey& key) {
  const at::Tensor result = spec_.policy == AugmentPolicy::kDiffAugment
                                ? diff_augmented(pictures, spec_.kinds(), key)
                                : ada_augmented(pictures, strength, key);
  // A tensor of its own in any case, as what a node makes is.
  return result.is_same(pictures) ? pictures.view_as(pictures)
                                  : result.contiguous(pictures.suggest_memory_format());
}

at::Tensor Augmentation::ada_augmented(const at::Tensor& pictures, double strength,
                                       const RandomKey& key) {
  const Drawn drawn = all_drawn(spec_, strength, key, pictures);
  const auto geometry = [](const DrawnAugmentation& one) { return one.geometry; };
  at::Tensor result = transformed_where(pictures, drawn, is_blitted, geometry, blitted);
  result = transformed_where(result, drawn, is_resampled, geometry,
                             [&](const at::Tensor& some, const std::vector<Affine>& inverses) {
                               return resampled(some, inverses, filters_of(some));
                             });
  result = transformed_where(
      result, drawn, is_recolored, [](const DrawnAugmentation& one) { return one.colors; },
      recolored);
  result = transformed_where(
      result, drawn, is_filtered, [](const DrawnAugmentation& one) { return one.gains; },
      [&](const at::Tensor& some, const std::vector<std::array<double, kNumBands>>& gains) {
        return band_filtered(some, gains, filters_of(some));
      });
  result = with_noise(result, drawn, key);
  return transformed_where(
      result, drawn, is_cut_out, [](const DrawnAugmentation& one) { return *one.cutout; }, cut_out);
}

const AxisFilters& Augmentation::filters_of(const at::Tensor& pictures) {
  if (!filters_ || filters_->side != pictures.size(2) ||
      filters_->up.device() != pictures.device()) {
    filters_.emplace(pictures.size(2), pictures.device());
  }
  return *filters_;
}

}  // namespace gangway::gan
