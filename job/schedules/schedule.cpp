// SPDX-License-Identifier: MIT
#include "job/schedules/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gangway {
namespace {

constexpr double kImages = 1000.0;  // per kimg

double on_a_line(double first, double last, double share) {
  return last + (first - last) * (1.0 - share);
}

double on_half_a_cosine(double first, double last, double share) {
  return last + (first - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * share));
}

/// Returns the part of the decay that is done, in [0, pieces], for `pieces` cycles.
double progress(const ScheduleSpec& schedule, double images, double burn_in_images,
                double pieces = 1.0) {
  const double start = schedule.start_kimg * kImages;
  const double end = schedule.end_kimg > 0.0 ? schedule.end_kimg * kImages : burn_in_images;
  // Multiplies first, so that a cycle ends at a whole number, without rounding.
  return end > start ? std::clamp((images - start) * pieces / (end - start), 0.0, pieces) : pieces;
}

double cosine(double base, const ScheduleSpec& schedule, double images, double burn_in_images) {
  const auto cycles = static_cast<double>(schedule.cycles);
  const double done = progress(schedule, images, burn_in_images, cycles);
  const double share = done < cycles ? done - std::floor(done) : 1.0;
  return on_half_a_cosine(base, schedule.final_value, share);
}

double stepped(double base, const ScheduleSpec& schedule, double images) {
  double steps = 0.0;
  if (!schedule.milestones.empty()) {
    steps = static_cast<double>(std::ranges::count_if(
        schedule.milestones, [&](double kimg) { return images >= kimg * kImages; }));
  } else if (schedule.step_kimg > 0.0) {
    steps = std::floor(images / (schedule.step_kimg * kImages));
  }
  return base * std::pow(schedule.step_factor, steps);
}

double one_cycle(double base, const ScheduleSpec& schedule, double share) {
  const auto line = schedule.anneal == Anneal::kLinear ? on_a_line : on_half_a_cosine;
  return share < schedule.peak
             ? line(schedule.initial_value, base, share / schedule.peak)
             : line(base, schedule.final_value, (share - schedule.peak) / (1.0 - schedule.peak));
}

}  // namespace

bool has_end(DecayKind decay) { return decay != DecayKind::kNone && decay != DecayKind::kStep; }

bool ends_with_burn_in(const ScheduleSpec& schedule) {
  return has_end(schedule.decay) && schedule.end_kimg == 0.0;
}

double warmup_factor(const ScheduleSpec& schedule, double images) {
  const double warmup = schedule.warmup_kimg * kImages;
  const double risen = warmup > 0.0 ? std::min(1.0, images / warmup) : 1.0;
  return schedule.warmup_from + (1.0 - schedule.warmup_from) * risen;
}

double decayed(double base, const ScheduleSpec& schedule, double images, double burn_in_images) {
  switch (schedule.decay) {
    case DecayKind::kNone:
      return base;
    case DecayKind::kLinear:
      return on_a_line(base, schedule.final_value, progress(schedule, images, burn_in_images));
    case DecayKind::kCosine:
      return cosine(base, schedule, images, burn_in_images);
    case DecayKind::kStep:
      return stepped(base, schedule, images);
    case DecayKind::kExponential:
      return base *
             std::pow(schedule.final_value / base, progress(schedule, images, burn_in_images));
    case DecayKind::kOneCycle:
      return one_cycle(base, schedule, progress(schedule, images, burn_in_images));
  }
  return base;
}

double scheduled(double base, const ScheduleSpec& schedule, double images, double burn_in_images) {
  return decayed(base, schedule, images, burn_in_images) * warmup_factor(schedule, images);
}

}  // namespace gangway
