// SPDX-License-Identifier: MIT
// Keyed random numbers: every draw is a pure function of its key, so it does not depend on layout
// or device.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) with the key
// of docs/numerics.md: (seed, step, phase, repeat, pass, micro-batch, block, draw). It uses only +,
// -, *, / and sqrt of IEEE 754, with contraction off, so CPU and CUDA compilers give the same bits.
// No LibTorch; included by .cpp and .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define GANGWAY_HOST_DEVICE __host__ __device__
#else
#define GANGWAY_HOST_DEVICE
#endif

namespace gangway {

/// Identifies one use of random numbers in a job. Two different uses never share a key.
struct RandomKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int32_t phase =
      0;  ///< index of the phase in the job's list; kInitialisation, kData … for uses outside
  std::int32_t repeat = 0;  ///< n_critic position
  std::int32_t pass = 0;
  std::int32_t microbatch = 0;
  std::int32_t block = 0;  ///< block of the network, or 0
  std::int32_t draw = 0;   ///< noise, labels, mix, dropout … (RandomDraw)
};

/// Values of RandomKey::phase outside the training phases.
inline constexpr std::int32_t kPhaseInitialisation = -1;
inline constexpr std::int32_t kPhaseData = -2;
inline constexpr std::int32_t kPhaseSample = -3;
inline constexpr std::int32_t kPhaseEvaluation = -4;
inline constexpr std::int32_t kPhaseTrial = -5;  ///< worker/arithmetic/trial_microbatch.hpp

/// Values of RandomKey::draw.
enum class RandomDraw : std::int32_t {
  kNoise = 0,
  kLabel = 1,
  kMix = 2,
  kDropout = 3,
  kMirror = 4,
  kWeight = 5,
  kPermutation = 6,
  kToy = 7,
  kDepthNoise = 8,  ///< on the discriminator's input pictures
  kCode = 10,
  kCategory = 11,
  kStack = 14,
  kPool = 15,        ///< index of the pool image to show again
  kStyleNoise = 20,  ///< the second noise of style mixing
  kStyleCut = 21,    ///< whether an example mixes, and its first mixed layer
  kLayerNoise = 22,  ///< in a generator's layer, one value a pixel
  kPathNoise = 23,   ///< path length regularisation: noise on the picture
  kLabelFlip = 30,   ///< real images with flipped targets
  // Augmentation: whether and how far a picture is transformed.
  kAugmentFlip = 40,
  kAugmentTurn = 41,
  kAugmentShift = 42,  ///< by whole pixels
  kAugmentScale = 43,
  kAugmentRotation = 44,  ///< before the stretching
  kAugmentStretching = 45,
  kAugmentLateRotation = 46,
  kAugmentFineShift = 47,
  kAugmentBrightness = 48,
  kAugmentContrast = 49,
  kAugmentLumaFlip = 50,
  kAugmentHue = 51,
  kAugmentSaturation = 52,
  kAugmentFilter = 53,
  kAugmentNoise = 54,  ///< block 0: strength; block 1: the noise
  kAugmentCutout = 55,
  kCropPlace = 60,  ///< this and the next five: real pictures (data/augment/)
  kZoom = 61,
  kRotation = 62,
  kBrightness = 63,
  kContrast = 64,
  kSaturation = 65,
  kExample = 70,  ///< all draws of an example in Python (data/own/)
};

struct PhiloxBlock {
  std::uint32_t word[4];  // NOLINT(modernize-avoid-c-arrays): device code has no std::array
};

/// Ten rounds of Philox4x32 (Salmon et al., table 2; constants of the reference implementation,
/// Random123).
GANGWAY_HOST_DEVICE inline PhiloxBlock philox4x32(std::uint64_t key, std::uint64_t counter_low,
                                                  std::uint64_t counter_high) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32U);
  PhiloxBlock x{
      {static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32U),
       static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32U)}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * x.word[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * x.word[2];
    x = PhiloxBlock{
        {static_cast<std::uint32_t>(p1 >> 32U) ^ x.word[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32U) ^ x.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return x;
}

/// Finaliser of SplitMix64 (Steele et al., OOPSLA 2014): every input bit reaches every output bit.
GANGWAY_HOST_DEVICE inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

namespace detail {

/// Natural logarithm of a normal double in (0, 1], by atanh series after taking out the exponent;
/// error below 2e-15.
GANGWAY_HOST_DEVICE inline double log_of_unit(double x) {
  int exponent = 0;
  while (x < 0.70710678118654752440) {  // at most 33 turns for the uniforms used here
    x = x * 2.0;
    --exponent;
  }
  const double s = (x - 1.0) / (x + 1.0);  // |s| <= 0.1716
  const double z = s * s;
  double sum = 1.0 / 21.0;
  for (int k = 19; k >= 1; k -= 2) {
    sum = sum * z + 1.0 / static_cast<double>(k);
  }
  return 2.0 * s * sum + static_cast<double>(exponent) * 0.69314718055994530942;
}

/// sin and cos of 2 pi t for t in [0, 1), by Taylor series on an eighth of a turn; error below
/// 1e-15.
GANGWAY_HOST_DEVICE inline void sincos_of_turn(double t, double* sine, double* cosine) {
  // 0..4; never negative. NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const int quarter = static_cast<int>(t * 4.0 + 0.5);
  const double r =
      (t - static_cast<double>(quarter) * 0.25) * 6.28318530717958647693;  // |r| <= pi/4
  const double z = r * r;
  double s = 1.0;
  double c = 1.0;
  for (int k = 8; k >= 1; --k) {
    s = 1.0 - s * z / static_cast<double>((2 * k) * (2 * k + 1));
    c = 1.0 - c * z / static_cast<double>((2 * k - 1) * (2 * k));
  }
  s = s * r;
  switch (quarter & 3) {
    case 0:
      *sine = s;
      *cosine = c;
      break;
    case 1:
      *sine = c;
      *cosine = -s;
      break;
    case 2:
      *sine = -s;
      *cosine = -c;
      break;
    default:
      *sine = -c;
      *cosine = s;
      break;
  }
}

}  // namespace detail

/// The random numbers of one key, addressed by index: any element can be drawn alone, in any order,
/// on any thread.
class KeyedRandom {
 public:
  GANGWAY_HOST_DEVICE explicit KeyedRandom(const RandomKey& key) {
    std::uint64_t h = mix64(key.seed);
    h = mix64(h ^ static_cast<std::uint64_t>(key.step));
    h = mix64(h ^ pair(key.phase, key.repeat));
    h = mix64(h ^ pair(key.pass, key.microbatch));
    h = mix64(h ^ pair(key.block, key.draw));
    key_ = h;
    high_ = mix64(h ^ 0x6A09E667F3BCC908ULL);
  }

  /// 32 random bits.
  [[nodiscard]] GANGWAY_HOST_DEVICE std::uint32_t bits(std::uint64_t index) const {
    return block(index / 4).word[index % 4];
  }

  /// Uniform in [0, 1), 24 bits.
  [[nodiscard]] GANGWAY_HOST_DEVICE float uniform(std::uint64_t index) const {
    return static_cast<float>(bits(index) >> 8U) * 0x1p-24F;
  }

  /// Uniform integer in [0, bound), bound <= 2^32; bias below bound / 2^32.
  [[nodiscard]] GANGWAY_HOST_DEVICE std::uint32_t below(std::uint64_t index,
                                                        std::uint32_t bound) const {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits(index)) * bound) >> 32U);
  }

  /// Four standard normals of elements 4 * group … 4 * group + 3 (Box and Muller, 1958), written to
  /// out[0..3].
  GANGWAY_HOST_DEVICE void normal4(std::uint64_t group, float* out) const {
    const PhiloxBlock x = block(group);
    for (std::size_t half = 0; half < 2; ++half) {
      const double u = (static_cast<double>(x.word[2 * half]) + 1.0) * 0x1p-32;  // (0, 1]
      const double t = static_cast<double>(x.word[2 * half + 1]) * 0x1p-32;      // [0, 1)
      const double radius = sqrt(-2.0 * detail::log_of_unit(u));
      double sine = 0.0;
      double cosine = 0.0;
      detail::sincos_of_turn(t, &sine, &cosine);
      out[2 * half] = static_cast<float>(radius * cosine);
      out[2 * half + 1] = static_cast<float>(radius * sine);
    }
  }

 private:
  GANGWAY_HOST_DEVICE static std::uint64_t pair(std::int32_t a, std::int32_t b) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32U) |
           static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] GANGWAY_HOST_DEVICE PhiloxBlock block(std::uint64_t index) const {
    return philox4x32(key_, index, high_);
  }

  std::uint64_t key_;
  std::uint64_t high_;
};

}  // namespace gangway
