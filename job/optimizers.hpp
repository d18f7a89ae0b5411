// SPDX-License-Identifier: MIT
// The optimisers as data: names in job files, numbers and moments. Keys, arenas, names in
// checkpoints, audits and GPU memory follow from the table. The arithmetic is in gan/optimizer.cpp
// (CPUs) and comm/cuda/optimizer_rules.hpp (GPUs). To add an optimiser: CONTRIBUTING.md. Pure; .cu
// files read it too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "job/real_bounds.hpp"

namespace gangway {

enum class OptimizerKind { kAdam, kAdamW, kRmsprop, kSgd, kLion };

/// An optimiser and its numbers, from a job file or for one update with schedules applied. Has the
/// numbers of all optimisers; the table says which of them an optimiser takes.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 2e-4;
  std::array<double, 2> betas = {0.5, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  double alpha = 0.99;
  double momentum = 0.0;
  bool operator==(const OptimizerSpec&) const = default;
};

enum class NumberRole {
  kFixed,
  /// Share of a moment that an update keeps. A lazy regulariser adds an update every k steps, so
  /// the share is then raised to the power k / (k + 1) (StyleGAN2, appendix B).
  kDecay,
};

/// A number that an optimiser takes besides the learning rate.
struct OptimizerNumber {
  std::string_view name;  ///< in job files
  std::string_view description;
  std::variant<double OptimizerSpec::*, std::array<double, 2> OptimizerSpec::*> field;
  RealBounds bounds;
  NumberRole role = NumberRole::kFixed;

  /// Returns the field's one or two numbers.
  [[nodiscard]] std::span<double> values(OptimizerSpec& spec) const {
    if (const auto* one = std::get_if<double OptimizerSpec::*>(&field)) {
      return {&(spec.**one), 1};
    }
    return spec.*std::get<std::array<double, 2> OptimizerSpec::*>(field);
  }
};

struct OptimizerRow {
  OptimizerKind kind;
  std::string_view name;                      ///< in job files
  std::string_view source;                    ///< the paper
  std::span<const std::string_view> moments;  ///< in checkpoints; zero before the first update
  std::span<const OptimizerNumber> numbers;
  OptimizerSpec defaults;  ///< of a job that gives only the name
};

inline constexpr std::array<std::string_view, 2> kAdamMoments{"first_moment", "second_moment"};
inline constexpr std::array kAdamNumbers{
    OptimizerNumber{"betas", "Decay of the two moments", &OptimizerSpec::betas, kZeroToBelowOne,
                    NumberRole::kDecay},
    OptimizerNumber{"eps", "Added to the root of the second moment", &OptimizerSpec::eps,
                    kAboveZero},
    OptimizerNumber{"weight_decay", "Weight decay: L2 in adam, decoupled in adamw",
                    &OptimizerSpec::weight_decay, kZeroOrMore}};

inline constexpr OptimizerNumber kMomentum{"momentum", "Share of the last update's direction kept",
                                           &OptimizerSpec::momentum, kZeroToBelowOne,
                                           NumberRole::kDecay};
inline constexpr OptimizerNumber kL2Decay{"weight_decay", "Weight decay: L2",
                                          &OptimizerSpec::weight_decay, kZeroOrMore};

inline constexpr std::array<std::string_view, 2> kRmspropMoments{"momentum", "square_average"};
inline constexpr std::array kRmspropNumbers{
    OptimizerNumber{"alpha", "Decay of the average of squares", &OptimizerSpec::alpha,
                    kZeroToBelowOne, NumberRole::kDecay},
    OptimizerNumber{"eps", "Added to the root of that average", &OptimizerSpec::eps, kAboveZero},
    kL2Decay, kMomentum};

inline constexpr std::array<std::string_view, 1> kSgdMoments{"momentum"};
inline constexpr std::array kSgdNumbers{kMomentum, kL2Decay};

inline constexpr std::array<std::string_view, 1> kLionMoments{"momentum"};
inline constexpr std::array kLionNumbers{
    OptimizerNumber{"betas",
                    "Share of the momentum in the signed update, and decay of the momentum",
                    &OptimizerSpec::betas, kZeroToBelowOne, NumberRole::kDecay},
    OptimizerNumber{"weight_decay", "Weight decay, decoupled", &OptimizerSpec::weight_decay,
                    kZeroOrMore}};

/// In the order of job files and messages.
inline constexpr std::array kOptimizers{
    OptimizerRow{OptimizerKind::kAdam,
                 "adam",
                 "Kingma and Ba, 2015",
                 kAdamMoments,
                 kAdamNumbers,
                 {.kind = OptimizerKind::kAdam}},
    OptimizerRow{OptimizerKind::kAdamW,
                 "adamw",
                 "Loshchilov and Hutter, 2019",
                 kAdamMoments,
                 kAdamNumbers,
                 {.kind = OptimizerKind::kAdamW}},
    OptimizerRow{OptimizerKind::kRmsprop,
                 "rmsprop",
                 "Tieleman and Hinton, 2012",
                 kRmspropMoments,
                 kRmspropNumbers,
                 {.kind = OptimizerKind::kRmsprop}},
    OptimizerRow{OptimizerKind::kSgd,
                 "sgd",
                 "Sutskever et al., 2013",
                 kSgdMoments,
                 kSgdNumbers,
                 {.kind = OptimizerKind::kSgd}},
    OptimizerRow{OptimizerKind::kLion,
                 "lion",
                 "Chen et al., 2023",
                 kLionMoments,
                 kLionNumbers,
                 {.kind = OptimizerKind::kLion, .betas = {0.9, 0.99}}}};

[[nodiscard]] constexpr const OptimizerRow& row_of(OptimizerKind kind) {
  for (const OptimizerRow& row : kOptimizers) {
    if (row.kind == kind) {
      return row;
    }
  }
  throw std::logic_error("an optimiser has no row: job/optimizers.hpp lists them all");
}

[[nodiscard]] constexpr std::size_t num_moments(OptimizerKind kind) {
  return row_of(kind).moments.size();
}

inline constexpr std::size_t kMaxMoments = [] {
  std::size_t most = 0;
  for (const OptimizerRow& row : kOptimizers) {
    most = std::max(most, row.moments.size());
  }
  return most;
}();

/// Returns whether the second beta is the decay of an average of squares (schedule.final_beta2).
[[nodiscard]] constexpr bool has_second_beta(OptimizerKind kind) {
  return kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamW;
}

/// Values by moment, in the row's order; empty beyond the optimiser's moments.
template <typename Value>
using PerMoment = std::array<Value, kMaxMoments>;

}  // namespace gangway
