// SPDX-License-Identifier: MIT
// Rules of advice about cores and memory that a worker lacks or will lack.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "report/advice/rules.hpp"

namespace gangway::report {
namespace {

using Facts = const StepFacts&;

/// Returns the share of CPU quota periods in which the quota was used up.
double throttled(Facts facts) { return facts.number("throttled_percent") / 100.0; }
constexpr double kThrottled = 0.1;  // threshold of the rule cpu-quota

double lost_core(Facts facts) { return 1.0 - facts.number("core_percent") / 100.0; }
/// Whether threads of the worker's own process use the core time that it lacks.
bool has_own_rivals(Facts facts) { return facts.number("other_cores") >= lost_core(facts); }

double memory_left(Facts facts) {
  return std::max(0.0, facts.number("memory_limit_gib") - facts.number("memory_used_gib"));
}

/// Returns the hours until the memory is full at the current growth.
double hours_left(Facts facts) {
  const double pace = facts.number(kMemoryGrowth);
  return pace > 0.0 ? memory_left(facts) / pace : std::numeric_limits<double>::infinity();
}

/// Returns the hours until the run ends; 0 if the job does not say.
double hours_to_train(Facts facts) {
  const double kimg = std::atof(facts.key("training.kimg", "0").c_str()) - facts.number("kimg");
  return std::max(0.0, kimg) * facts.number("seconds_per_kimg") / 3600.0;
}

/// Returns 1 or more if the memory is full within a day and before the run ends.
double growth(Facts facts) {
  constexpr double kDay = 24.0;
  const double left = hours_left(facts);
  return left < hours_to_train(facts) ? kDay / std::max(left, 0.01) : 0.0;
}

/// Returns the used share of the limit above four fifths. The page cache does not count as used.
double nearness(Facts facts) {
  constexpr double kNobodyMinds = 0.8;
  const double limit = facts.number("memory_limit_gib");
  const double used = limit > 0.0 ? facts.number("memory_used_gib") / limit : 0.0;
  return facts.number("allocation_retries") > 0.0 ? 1.0 : std::max(0.0, used - kNobodyMinds);
}

std::string used_text(Facts facts) {
  const double limit = facts.number("memory_limit_gib");
  return fmt::format("{:.2f} of {:.2f} GiB of its {} are in use", facts.number("memory_used_gib"),
                     limit, facts.text("memory_limit"));
}

/// Returns the lost share of the clock if the driver reports throttling; an idle GPU is slow too.
double lost_clock(Facts facts) {
  return facts.text("slow_gpu_slowed_by").empty()
             ? 0.0
             : 1.0 - facts.number("slow_gpu_clock_percent") / 100.0;
}

std::string cool_or_feed(Facts facts) {
  const std::string by = facts.text("slow_gpu_slowed_by");
  if (by == "power") {
    return "a higher power limit ('nvidia-smi -pl WATTS'), or look at the host's power supply";
  }
  if (by == "heat") {
    return "look at its cooling: fans, air, devices beside it";
  }
  if (by == "power and heat") {
    return "look at its cooling first, then at its power limit ('nvidia-smi -pl WATTS')";
  }
  return "look at its power supply and cooling: 'nvidia-smi -q -d PERFORMANCE' says more";
}

/// Returns the next step that saves memory with the same numbers, or where to find one.
std::string rung(Facts facts) {
  return facts.key(kMemoryRung).empty() ? "what docs/memory.md lists"
                                        : facts.key(kMemoryRung) + " (docs/memory.md)";
}

constexpr std::array kMachineRules = {
    Rule{.name = "oversubscribed",
         .threshold = 0.1,
         .share =
             [](Facts facts) {
               const bool others_take_it =
                   facts.number("preemptions_per_step") >= 1.0 && throttled(facts) < kThrottled;
               return others_take_it ? lost_core(facts) * facts.host_computing() : 0.0;
             },
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "the compute thread had a core for {} of its time outside waits, and lost it "
                   "{:.1f} times a step; its process's other threads had {:.1f} cores",
                   percent(facts.number("core_percent") / 100.0),
                   facts.number("preemptions_per_step"), facts.number("other_cores"));
             },
         .remedy =
             [](Facts facts) {
               return std::string(
                   has_own_rivals(facts)
                       ? "less work for those threads: rarer checkpoints and snapshots, "
                         "data.cache, pictures of their final size; or fewer workers on that host"
                       : "fewer workers on that host, or no other programs there");
             }},
    Rule{.name = "swapping",
         .threshold = 1.0,
         .share = [](Facts facts) { return facts.number("major_faults_per_step"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("a disk had to reload {:.1f} pages of its memory per step",
                                  facts.number("major_faults_per_step"));
             },
         .remedy = [](Facts) { return std::string("fewer workers on that host, or more memory"); },
         .is_saved = false},
    Rule{.name = "cpu-quota",
         .threshold = kThrottled,
         .share = throttled,
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "its control group had used up its CPU quota in {} of the periods, and all "
                   "threads of the worker waited",
                   percent(throttled(facts)));
             },
         .remedy =
             [](Facts) {
               return std::string(
                   "raise the CPU limit of the container or service, or fewer workers in it");
             },
         .is_saved = false},
    Rule{.name = "low-clock",
         .threshold = 0.1,
         .share = lost_clock,
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "the GPU of rank {:.0f} runs at {} of its highest clock, slowed "
                   "by {}",
                   facts.number("slow_gpu_rank"),
                   percent(facts.number("slow_gpu_clock_percent") / 100.0),
                   facts.text("slow_gpu_slowed_by"));
             },
         .remedy = cool_or_feed,
         .needs_restart = false},
    Rule{.name = "memory-growth",
         .threshold = 1.0,
         .share = growth,
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "memory grows by {:.2f} GiB an hour, and the free part of the {}, {:.2f} GiB, "
                   "lasts for {:.1f} hours; the run needs {:.1f} hours more",
                   facts.number(kMemoryGrowth), facts.text("memory_limit"), memory_left(facts),
                   hours_left(facts), hours_to_train(facts));
             },
         .remedy =
             [](Facts facts) {
               return fmt::format(
                   "look for code that keeps memory from step to step ({}); until then 'gangway "
                   "stop RUN' and 'gangway run' again before memory is full",
                   facts.key("model.library").empty() ? "your own modules"
                                                      : "the job's own library");
             },
         .is_saved = false},
    Rule{
        .name = "memory-nearly-full",
        .threshold = 0.1,
        .share = nearness,
        .evidence =
            [](Facts facts) {
              return facts.number("allocation_retries") > 0.0
                         ? fmt::format(
                               "its GPU's allocator had to free its cached memory {:.0f} times; {}",
                               facts.number("allocation_retries"), used_text(facts))
                         : used_text(facts);
            },
        .remedy = rung,
        .is_saved = false},
};

}  // namespace

std::string percent(double share) { return fmt::format("{:.0f}%", 100.0 * share); }

std::span<const Rule> machine_rules() { return kMachineRules; }

}  // namespace gangway::report
