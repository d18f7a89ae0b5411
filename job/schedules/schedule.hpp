// SPDX-License-Identifier: MIT
// A number of the job's that changes while it is trained, as a function of the real images shown:
// learning rates, decays of moments, weights of penalties, half-lives. In double precision, in one
// order of operations, so that every worker has the same bits. Keys: job/keys/schedule_keys.hpp;
// code that applies the number calls `scheduled`. Pure; any thread.
#pragma once

#include <vector>

namespace gangway {

/// How a number goes from what the job says to its final value.
enum class DecayKind {
  kNone,
  kLinear,
  kCosine,       ///< half a cosine, or several (Loshchilov and Hutter, 2017, eq. 5)
  kStep,         ///< by a factor, now and then
  kExponential,  ///< by equal factors over equal stretches
  kOneCycle,     ///< up, then down (Smith, 2018, section 4)
};

/// On what line kOneCycle goes up and down.
enum class Anneal { kCosine, kLinear };

/// Of a factor, which is 1 by itself, or of a value.
struct ScheduleSpec {
  double warmup_kimg = 0.0;  ///< over which it rises linearly, by a factor up to 1; 0: at once
  double warmup_from = 0.0;  ///< that factor at the start
  DecayKind decay = DecayKind::kNone;
  double start_kimg = 0.0;  ///< the decay begins here
  double end_kimg = 0.0;    ///< and is over here; 0: where the job's burn-in is
  double step_kimg = 0.0;   ///< kStep: multiply by `step_factor` every so many kimg
  double step_factor = 0.1;
  std::vector<double> milestones = {};  ///< kStep: in kimg, rising, instead of `step_kimg`
  double final_value = 0.0;             ///< all but kStep: what it comes to
  int cycles = 1;                       ///< kCosine: so often, each from the beginning
  double initial_value = 0.04;          ///< kOneCycle: what it begins with
  double peak = 0.3;                    ///< kOneCycle: the share of the way that goes up
  Anneal anneal = Anneal::kCosine;
  bool operator==(const ScheduleSpec&) const = default;
};

/// Whether such a decay comes to its end at a number of images, and not only on and on.
[[nodiscard]] bool has_end(DecayKind decay);

/// Whether the job's burn-in is that end.
[[nodiscard]] bool ends_with_burn_in(const ScheduleSpec& schedule);

/// What the warm-up multiplies by after `images` real images.
[[nodiscard]] double warmup_factor(const ScheduleSpec& schedule, double images);

/// What becomes of `base` without the warm-up. After the end it stays as it was there.
/// @param burn_in_images  JobSpec::burn_in_images
/// @pre kExponential: `base` and `final_value` above 0
[[nodiscard]] double decayed(double base, const ScheduleSpec& schedule, double images,
                             double burn_in_images);

/// What a number is after `images` real images that is `base` by itself: decayed and warmed up.
[[nodiscard]] double scheduled(double base, const ScheduleSpec& schedule, double images,
                               double burn_in_images);

}  // namespace gangway
