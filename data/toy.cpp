// SPDX-License-Identifier: MIT
#include "data/toy.hpp"

#include <cstddef>
#include <utility>

#include "data/contents/fingerprint.hpp"
#include "gan/random.hpp"

namespace gangway::data {
namespace {

// Scales of the published code (gan_toy.py): roughly sqrt(2) and 2 sqrt(2), so that each coordinate
// has unit variance.
constexpr double kRingScale = 1.414;
constexpr double kGridScale = 2.828;

ToyMixture ring8() {
  ToyMixture mixture{.centres = {}, .sigma = static_cast<float>(0.02 / kRingScale)};
  for (int i = 0; i < 8; ++i) {
    double sine = 0;
    double cosine = 0;
    detail::sincos_of_turn(i / 8.0, &sine, &cosine);
    mixture.centres.push_back(
        {static_cast<float>(2 * cosine / kRingScale), static_cast<float>(2 * sine / kRingScale)});
  }
  return mixture;
}

ToyMixture grid25() {
  ToyMixture mixture{.centres = {}, .sigma = static_cast<float>(0.05 / kGridScale)};
  for (int column = -2; column <= 2; ++column) {
    for (int row = -2; row <= 2; ++row) {
      mixture.centres.push_back(
          {static_cast<float>(2 * column / kGridScale), static_cast<float>(2 * row / kGridScale)});
    }
  }
  return mixture;
}

}  // namespace

std::optional<ToyMixture> toy_mixture(std::string_view name) {
  if (name == "ring8") {
    return ring8();
  }
  if (name == "grid25") {
    return grid25();
  }
  return std::nullopt;
}

ToyDataset::ToyDataset(ToyMixture mixture, std::uint64_t seed)
    : mixture_(std::move(mixture)),
      seed_(seed),
      fingerprint_(fingerprint_of("toy", static_cast<std::int64_t>(mixture_.centres.size()),
                                  static_cast<std::int64_t>(seed))) {}

int ToyDataset::read(std::int64_t index, std::span<float> out) const {
  const KeyedRandom random(RandomKey{.seed = seed_,
                                     .step = index,
                                     .phase = kPhaseData,
                                     .draw = static_cast<std::int32_t>(RandomDraw::kToy)});
  const std::uint32_t mode = random.below(0, static_cast<std::uint32_t>(mixture_.centres.size()));
  std::array<float, 4> normal{};
  random.normal4(1, normal.data());  // group 0 holds the mode's draw
  for (std::size_t axis = 0; axis < 2; ++axis) {
    out[axis] = mixture_.centres[mode][axis] + mixture_.sigma * normal[axis];
  }
  return static_cast<int>(mode);
}

}  // namespace gangway::data
