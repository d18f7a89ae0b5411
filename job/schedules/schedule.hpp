// A job's number that changes in training, as a function of the real images shown: learning rates,
// decays of moments, weights of penalties, half-lives. Computed in double precision and one order
// of operations, so that every worker has the same bits. Keys: job/keys/schedule_keys.hpp; code
// that applies the number calls `scheduled`. Pure; any thread.
#pragma once

#include <vector>

namespace gangway {

/// Curve from the job's number to its final value.
enum class DecayKind {
  kNone,
  kLinear,
  kCosine,       ///< half a cosine, or several (Loshchilov and Hutter, 2017, eq. 5)
  kStep,         ///< by a factor, every so often
  kExponential,  ///< by equal factors over equal stretches
  kOneCycle,     ///< up, then down (Smith, 2018, section 4)
};

/// Curve on which kOneCycle rises and falls.
enum class Anneal { kCosine, kLinear };

/// Schedule of a factor, which starts at 1, or of a value.
struct ScheduleSpec {
  double warmup_kimg = 0.0;  ///< for a linear rise of the factor from `warmup_from` to 1; 0: none
  double warmup_from = 0.0;  ///< factor at the start of the warm-up
  DecayKind decay = DecayKind::kNone;
  double start_kimg = 0.0;  ///< start of the decay
  double end_kimg = 0.0;    ///< end of the decay; 0: the end of the job's burn-in
  double step_kimg = 0.0;   ///< kStep: multiplies by `step_factor` every so many kimg
  double step_factor = 0.1;
  std::vector<double> milestones = {};  ///< kStep: in kimg, rising, instead of `step_kimg`
  double final_value = 0.0;             ///< all but kStep: the number at the end
  int cycles = 1;                       ///< kCosine: repeats, each from the start value
  double initial_value = 0.04;          ///< kOneCycle: the number at the start
  double peak = 0.3;                    ///< kOneCycle: the rising share of the way
  Anneal anneal = Anneal::kCosine;
  bool operator==(const ScheduleSpec&) const = default;
};

/// Returns whether such a decay ends at a number of images; else it never ends.
[[nodiscard]] bool has_end(DecayKind decay);

/// Returns whether the decay ends with the job's burn-in.
[[nodiscard]] bool ends_with_burn_in(const ScheduleSpec& schedule);

/// Returns the warm-up's factor after `images` real images.
[[nodiscard]] double warmup_factor(const ScheduleSpec& schedule, double images);

/// Returns `base` decayed, without the warm-up. After its end the value is constant.
/// @param burn_in_images  JobSpec::burn_in_images
/// @pre kExponential: `base` and `final_value` above 0
[[nodiscard]] double decayed(double base, const ScheduleSpec& schedule, double images,
                             double burn_in_images);

/// Returns the number after `images` real images: `base`, decayed and warmed up.
[[nodiscard]] double scheduled(double base, const ScheduleSpec& schedule, double images,
                               double burn_in_images);

}  // namespace gangway
