// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include "comm/cuda/optimizer_rules.hpp"
#include "comm/cuda/slice_element.hpp"

namespace gangway::comm {
namespace {

float sum_of(const SumProgram& program, const SliceSummands& summands, std::int64_t index) {
  std::array<float, kMaxSumDepth> waiting;
  return run_sum_program<float>(
      program, [&](int i) { return load_element(summands.values[i], summands.types[i], index); },
      waiting.data(), 1);
}

template <typename Rule>
void update_by(const SliceUpdate& update) {
  const UpdateConstants& constants = *update.constants;
  const Rule rule = constants.rule<Rule>();
  if (update.is_skipped != nullptr && *update.is_skipped != 0) {
    return;
  }
  const float clip = update.clip_scale == nullptr ? 1.0F : *update.clip_scale;
  for (std::int64_t i = 0; i < update.elements; ++i) {
    const float mean = sum_of(update.program, update.summands, i) * update.scale;
    if (i < update.parameter_elements) {
      float moments[kMaxMoments];  // NOLINT(modernize-avoid-c-arrays): as device code has it
      for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
        moments[m] = update.moments[m][i];
      }
      rule.update(mean * clip, update.weights[i], moments);
      for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
        update.moments[m][i] = moments[m];
      }
    } else {
      update_statistic(constants, mean, update.weights[i]);
    }
    if (update.average != nullptr) {
      update.average[i] = weight_average(constants, update.average[i], update.weights[i]);
    }
  }
}

}  // namespace

void update_slice_on_host(const SliceUpdate& update) {
  with_rule(update.optimizer, [&](auto rule) { update_by<decltype(rule)>(update); });
}

UpdateConstants update_constants(const UpdatePlan& plan, double statistics_momentum) {
  UpdateConstants constants;
  constants.statistics_share = plan.harvests == 0 ? 0.0F : 1.0F / static_cast<float>(plan.harvests);
  constants.statistics_momentum = static_cast<float>(statistics_momentum);
  constants.average_gain = static_cast<float>(1.0 - plan.average_decay);
  constants.unscale = std::ldexp(1.0F, -static_cast<int>(plan.agreement.scale_exponent));
  with_rule(plan.settings.kind, [&](auto rule) {
    constants.set_rule(decltype(rule)::of(plan.settings, plan.number()));
  });
  return constants;
}

}  // namespace gangway::comm
