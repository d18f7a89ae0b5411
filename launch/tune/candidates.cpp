// SPDX-License-Identifier: MIT
#include "launch/tune/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/choices.hpp"

namespace gangway::launch {
namespace {

/// Of a step: what takes less is not worth a trial.
constexpr double kWorthATrial = 0.01;

class Variants {
 public:
  explicit Variants(const Trial& best) : best_(best) {}

  Trial& add(std::vector<std::string> keys) {
    Trial more{.name = fmt::format("{}", fmt::join(keys, " ")),
               .workers = best_.workers,
               .keys = std::move(keys)};
    trials_.push_back(joined(best_, more));
    return trials_.back();
  }
  [[nodiscard]] std::vector<Trial> taken() { return std::move(trials_); }

 private:
  const Trial& best_;
  std::vector<Trial> trials_;
};

void add_exchange_keys(const JobSpec& job, Variants& variants) {
  for (const int buckets : {2, 4, 16, 32}) {
    if (buckets != job.layout.buckets) {
      variants.add({fmt::format("layout.buckets={}", buckets)});
    }
  }
}

void add_data_keys(const JobSpec& job, int cores, Variants& variants) {
  const DataSpec& data = job.data;
  for (const int threads : {2, 4}) {
    if (threads > data.threads && threads <= 2 * cores) {
      variants.add({fmt::format("data.threads={}", threads),
                    fmt::format("data.prefetch={}", std::max(data.prefetch, 2 * threads))});
    }
  }
  variants.add({fmt::format("data.prefetch={}", 4 * data.prefetch)});
  const bool is_decoded =
      data.source.starts_with("images:") || data.has_two_sides();  // else it is there as it is
  if (is_decoded && data.cache == 0) {
    variants.add({"data.cache=auto"}).fills_cache = true;
  }
}

constexpr std::size_t kMostFinalists = 3;

/// Of successive halving from `trials` on, `rounds` of them.
std::size_t runs_of(std::size_t trials, int rounds) {
  std::size_t runs = 0;
  for (int round = 0; round < rounds; ++round) {
    runs += kRunsOfRound * trials;
    trials = (trials + 1) / 2;
  }
  return runs;
}

std::string path_of(const std::string& key) { return key.substr(0, key.find('=')); }

/// What `trial` has besides `best`.
Trial without(const Trial& trial, const Trial& best) {
  Trial more = trial;
  more.name = trial.name.substr(std::min(trial.name.size(), best.name.size() + 2));
  more.keys.erase(more.keys.begin(),
                  more.keys.begin() + static_cast<std::ptrdiff_t>(best.keys.size()));
  return more;
}

/// Whether `trial` has a key of `more`, of whatever value.
bool has_one_of(const Trial& trial, const Trial& more) {
  return std::ranges::any_of(more.keys, [&](const std::string& key) {
    return std::ranges::find(trial.keys, path_of(key), path_of) != trial.keys.end();
  });
}

}  // namespace

std::string length_text(std::size_t layouts, std::size_t keys, double start_seconds,
                        double seconds) {
  // Each group also runs the job as typed; the key finals run all finalists together, too.
  const std::size_t of_keys =
      keys == 0 ? 0 : kRunsOfRound * (keys + 1) + runs_of(kMostFinalists + 2, kRounds - 1);
  const std::size_t tried = runs_of(layouts + 1, kRounds) + of_keys;
  constexpr std::size_t kProofs = 4 * kProofRounds;
  const double all = static_cast<double>(tried) * (start_seconds + seconds) +
                     static_cast<double>(kProofs) * (start_seconds + 2.0 * seconds);
  return fmt::format(
      "up to {} runs of some {:.0f} s each, then {} of {:.0f} s as a proof: some {:.0f} minutes in "
      "all\n",
      tried, start_seconds + seconds, kProofs, start_seconds + 2.0 * seconds,
      std::ceil(all / 60.0));
}

bool waits_most_for_data(const Trial& typed) {
  const auto& parts = typed.runs.back().parts;
  const auto most =
      std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
  return most != parts.end() && most->first == "data";
}

std::vector<Trial> layout_trials(const plan::Search& search, const plan::PlanInput& input,
                                 const Trial& typed, int slots, std::size_t most) {
  std::vector<Trial> trials;
  for (const plan::Prediction& one : search.ranking) {
    plan::Candidate candidate = runnable(one.candidate, input.job, input.cluster);
    if (input.job.layout.transport == TransportKind::kAuto &&
        traits_of(candidate.choice.transport).sharing == MemorySharing::kEverybody) {
      candidate.choice.transport = TransportKind::kAuto;  // which measures both, and is no key
    }
    Trial trial{.name = describe(candidate),
                .workers = candidate.workers,
                .keys = layout_keys(candidate, input.job)};
    const bool is_typed = trial.workers == typed.workers && trial.keys.empty();
    if (one.fits && !is_typed && trial.workers <= slots && trials.size() < most) {
      trials.push_back(std::move(trial));
    }
  }
  return trials;
}

std::vector<Trial> overlap_trials(const JobSpec& job, const Trial& typed) {
  Variants variants(typed);
  for (const Overlap overlap : {Overlap::kAcross, Overlap::kWithin, Overlap::kNone}) {
    if (overlap != job.layout.overlap) {
      variants.add({fmt::format("layout.overlap={}", name_of(overlap))});
    }
  }
  return variants.taken();
}

std::vector<Trial> key_trials(const JobSpec& job, const Trial& best, int cores) {
  Variants variants(best);
  if (best.share({"exchange", "optimizer", "workers", "messages", "device"}) >= kWorthATrial) {
    add_exchange_keys(job, variants);
  }
  if (best.share({"data"}) >= kWorthATrial) {
    add_data_keys(job, cores, variants);
  }
  if (best.share({"snapshots"}) >= kWorthATrial &&
      job.checkpoint.snapshot_steps != CheckpointSpec::kAutoSnapshots) {
    variants.add({"checkpoint.snapshot_steps=auto"});
  }
  if (job.layout.recompute) {
    variants.add({"layout.recompute=false"});
  }
  if (job.numerics.device == DeviceKind::kCuda) {
    const bool is_off = job.layout.cuda_graph == GraphChoice::kOff;
    variants.add({fmt::format("numerics.cuda_graph={}", is_off ? "auto" : "off")});
    if (job.training.microbatches > 1 && job.layout.cuda_graph != GraphChoice::kBranches) {
      variants.add({"numerics.cuda_graph=branches"});
    }
    if (job.layout.overlap != Overlap::kNone && job.layout.cuda_graph != GraphChoice::kOverlap &&
        best.share({"exchange"}) >= kWorthATrial) {
      variants.add({"numerics.cuda_graph=overlap"});
    }
  }
  return variants.taken();
}

std::vector<Trial> finalists(const std::string& best, const std::vector<Trial>& trials) {
  std::vector<Trial> chosen(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 kMostFinalists, trials.size())));
  const auto known = std::ranges::find(trials, best, &Trial::name);
  if (known == trials.end()) {
    return chosen;
  }
  Trial all = *known;
  int num_faster = 0;
  for (const Trial& trial : trials) {
    const Trial more = without(trial, *known);
    if (trial.seconds() * kWorthIt < known->seconds() && !has_one_of(without(all, *known), more)) {
      all = joined(all, more);
      ++num_faster;
    }
  }
  if (num_faster > 1) {
    chosen.push_back(all);
  }
  if (std::ranges::find(chosen, best, &Trial::name) == chosen.end()) {
    chosen.push_back(*known);
  }
  return chosen;
}

std::vector<Trial> number_trials(const JobSpec& job, const Trial& best, int most_workers) {
  Variants variants(best);
  const int now = job.training.microbatches;
  for (const int microbatches : {now / 4, now / 2, 2 * now, 4 * now}) {
    if (microbatches > 0 && job.training.batch % microbatches == 0 &&
        microbatches * 2 <= job.training.batch) {
      Trial& trial = variants.add({fmt::format("training.microbatches={}", microbatches)});
      trial.workers = std::min(most_workers, microbatches);
      trial.keys.insert(trial.keys.end(), {"layout.shares=auto", "layout.data=auto"});
    }
  }
  variants.add({fmt::format(
      "numerics.memory_format={}",
      job.numerics.memory_format == MemoryFormat::kChannelsLast ? "contiguous" : "channels-last")});
  variants.add({"numerics.precision=bf16"});
  if (job.numerics.device == DeviceKind::kCuda) {
    variants.add({"numerics.kernels=fastest"});
  }
  std::vector<Trial> trials = variants.taken();
  for (Trial& trial : trials) {
    trial.changes_numbers = true;
  }
  return trials;
}

}  // namespace gangway::launch
