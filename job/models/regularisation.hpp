// SPDX-License-Identifier: MIT
// What a discriminator is shown and told: examples and labels that it compares, and what is there
// against overfitting beside penalties on gradients. Pure.
#pragma once

namespace gangway {

/// Of which labels generated examples are, where each has one of its own.
enum class FakeLabels {
  kUniform,  ///< each as likely
  kData,     ///< each as often as in the data: those of random examples
};
/// Which real examples the generator's phase looks at, where its loss does.
enum class GeneratorReals { kSame, kNew };

/// What it is to say of real images, where that is not always 1.
struct LabelSpec {
  double smoothing = 0.0;  ///< below 1 (one-sided: Salimans et al., 2016, section 3.4)
  double noise = 0.0;      ///< probability that a real image is called generated
  [[nodiscard]] bool is_any() const { return smoothing > 0.0 || noise > 0.0; }
  bool operator==(const LabelSpec&) const = default;
};

/// LeCam regularisation (Tseng et al., 2021, eq. 3): what the discriminator says of real images is
/// drawn to the moving mean of what it says of generated ones, and the other way round.
struct LecamSpec {
  double weight = 0.0;  ///< lambda; 0: none
  double decay = 0.99;  ///< gamma of the moving means: what an update keeps
  [[nodiscard]] bool is_any() const { return weight > 0.0; }
  bool operator==(const LecamSpec&) const = default;
};

/// The moving means, statistics of the discriminator where the job has it.
inline constexpr const char* kLecamReal = "lecam_real";
inline constexpr const char* kLecamFake = "lecam_fake";

}  // namespace gangway
