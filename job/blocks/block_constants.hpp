// SPDX-License-Identifier: MIT
// Constants of the blocks' arithmetic, for the blocks (gan/blocks/) and for networks as primitives
// (job/primitives/). Standard library alone.
#pragma once

#include <numbers>

namespace gangway {

/// Added to variances (PyTorch's default).
inline constexpr double kNormEpsilon = 1e-5;
/// Slope of leaky ReLU below zero (DCGAN, section 3).
inline constexpr double kLeakySlope = 0.2;

/// StyleGAN2: added to mean squares and variances before their square root (the authors' code).
inline constexpr double kStyleNormEpsilon = 1e-8;

/// Progressive growing: added to a mean square before its square root (section 4.2, and the
/// authors' code).
inline constexpr double kPixelEpsilon = 1e-8;
/// Progressive growing: gains of layers before a leaky ReLU, and of layers that make pictures and
/// logits (He et al., 2015; the authors' code).
inline constexpr double kActivatedGain = std::numbers::sqrt2;
inline constexpr double kPlainGain = 1.0;

/// BigGAN: lower bound of a length before division.
inline constexpr double kSpectralFloor = 1e-12;

/// GAT: added to a mean square before its square root.
inline constexpr double kTokenEpsilon = 1e-6;
inline constexpr double kStyleEpsilon = 1e-8;

}  // namespace gangway
