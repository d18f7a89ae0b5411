// SPDX-License-Identifier: MIT
#include <cmath>
#include <span>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/slice_element.hpp"

namespace gangway::comm {
namespace {

float sum_of(const SumProgram& program, const SliceSummands& summands, std::int64_t index) {
  float waiting[kMaxSumDepth];
  return run_sum_program<float>(
      program, [&](int i) { return load_element(summands.values[i], summands.types[i], index); },
      waiting, 1);
}

}  // namespace

void update_slice_on_host(const SliceUpdate& update) {
  const UpdateConstants& constants = *update.constants;
  const float clip = update.clip_scale == nullptr ? 1.0F : *update.clip_scale;
  for (std::int64_t i = 0; i < update.elements; ++i) {
    const float mean = sum_of(update.program, update.summands, i) * update.scale;
    if (i < update.parameter_elements) {
      update_parameter(constants, clip, mean, update.weights[i], update.first_moment[i],
                       update.second_moment[i]);
    } else {
      update_statistic(constants, mean, update.weights[i]);
    }
    if (update.average != nullptr) {
      update.average[i] = weight_average(constants, update.average[i], update.weights[i]);
    }
  }
}

void sum_slice_on_host(const SliceSum& sum) {
  for (std::int64_t i = 0; i < sum.elements; ++i) {
    sum.out[i] = sum_of(sum.program, sum.summands, i) * sum.scale;
  }
}

void decide_clip_on_host(const ClipDecision& decision) {
  *decision.squared_norm =
      pairwise_sum({decision.squares, static_cast<std::size_t>(decision.num_blocks)});
  *decision.clip_scale = clip_factor(*decision.squared_norm, decision.clip_norm);
}

void encode_on_host(const WireEncoding& encoding) {
  auto* const out = static_cast<std::uint16_t*>(encoding.out);
  for (std::int64_t i = 0; i < encoding.elements; ++i) {
    out[i] = encode_element(encoding.values[i],
                            encoding.residual == nullptr ? nullptr : encoding.residual + i,
                            encoding.type);
  }
}

UpdateConstants update_constants(const UpdateSettings& settings) {
  const auto update = static_cast<double>(settings.update);
  const bool decoupled = settings.rule == UpdateSettings::Rule::kAdamW;
  UpdateConstants constants;
  constants.weight_decay = decoupled ? 0.0F : static_cast<float>(settings.weight_decay);
  constants.weight_factor =
      decoupled ? static_cast<float>(1.0 - settings.lr * settings.weight_decay) : 1.0F;
  constants.first_share = static_cast<float>(1.0 - settings.beta1);
  constants.second_keep = static_cast<float>(settings.beta2);
  constants.second_share = static_cast<float>(1.0 - settings.beta2);
  constants.second_root = static_cast<float>(std::sqrt(1.0 - std::pow(settings.beta2, update)));
  constants.eps = static_cast<float>(settings.eps);
  constants.step_size = static_cast<float>(settings.lr / (1.0 - std::pow(settings.beta1, update)));
  constants.statistics_share =
      settings.harvests == 0 ? 0.0F : 1.0F / static_cast<float>(settings.harvests);
  constants.statistics_momentum = static_cast<float>(settings.statistics_momentum);
  constants.average_gain = static_cast<float>(1.0 - settings.average_decay);
  return constants;
}

}  // namespace gangway::comm
