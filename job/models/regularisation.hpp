// Inputs and labels of a discriminator, and its regularisation beside penalties on gradients. Pure.
#pragma once

namespace gangway {

/// Labels of generated examples, if each has its own.
enum class FakeLabels {
  kUniform,  ///< all labels equally likely
  kData,     ///< labels of random real examples, with the data's frequencies
};
/// Real examples for the generator's phase, if its loss needs them.
enum class GeneratorReals { kSame, kNew };

/// Targets of the discriminator on real images, if not always 1.
struct LabelSpec {
  double smoothing = 0.0;  ///< subtracted from 1 (one-sided: Salimans et al., 2016, section 3.4)
  double noise = 0.0;      ///< probability that a real image gets the target of a generated one
  [[nodiscard]] bool is_any() const { return smoothing > 0.0 || noise > 0.0; }
  bool operator==(const LabelSpec&) const = default;
};

/// LeCam regularisation (Tseng et al., 2021, eq. 3): draws the logits of real images to the moving
/// mean of the generated images' logits, and vice versa.
struct LecamSpec {
  double weight = 0.0;  ///< lambda; 0: none
  double decay = 0.99;  ///< gamma: share of a moving mean that an update keeps
  [[nodiscard]] bool is_any() const { return weight > 0.0; }
  bool operator==(const LecamSpec&) const = default;
};

/// Names of the moving means: statistics of the discriminator, if LeCam is on.
inline constexpr const char* kLecamReal = "lecam_real";
inline constexpr const char* kLecamFake = "lecam_fake";

}  // namespace gangway
