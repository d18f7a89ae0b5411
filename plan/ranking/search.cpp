// SPDX-License-Identifier: MIT
#include "plan/ranking/search.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/units.hpp"
#include "plan/stages/predict_stages.hpp"

namespace gangway::plan {
namespace {

/// Share of a step below which two layouts count as equal.
constexpr double kSame = 1e-3;
/// Minimum number of ranked rows, even if the user asks for fewer. The search tries each order of
/// their lists.
constexpr std::size_t kLeastRows = 4;

/// Returns the worker counts that could be best: the fewest of each largest share, and all devices,
/// because the user pays for all of them.
std::vector<int> worker_counts(const PlanInput& input) {
  const int microbatches = input.job.training.microbatches;
  const int most = std::min(input.cluster.num_devices(), microbatches);
  std::vector<int> counts;
  int share = 0;
  for (int workers = 1; workers <= most; ++workers) {
    const int largest = (microbatches + workers - 1) / workers;
    if (largest != share || workers == most) {
      counts.push_back(workers);
    }
    share = largest;
  }
  return counts;
}

/// Returns the data-parallel layouts of `workers` workers.
std::vector<Candidate> whole_candidates(int workers, const PlanInput& input) {
  if (workers == 1) {
    return {whole_candidate(input.job, 1)};
  }
  const bool could_share = std::ranges::any_of(
      input.cluster.nodes, [](const ClusterNode& node) { return node.num_devices() > 1; });
  std::vector<Candidate> candidates;
  for (const TransportKind transport : {TransportKind::kShm, TransportKind::kMpi}) {
    for (const Overlap overlap : {Overlap::kAcross, Overlap::kWithin, Overlap::kNone}) {
      if (transport == TransportKind::kShm || could_share) {
        candidates.push_back(whole_candidate(input.job, workers, overlap, transport));
      }
    }
  }
  return candidates;
}

/// Orders the ranking. Of equally fast layouts, fewer workers come first, then the earlier one.
bool is_before(const Prediction& a, const Prediction& b) {
  return std::tuple(!a.fits, a.step_seconds, a.candidate.workers) <
         std::tuple(!b.fits, b.step_seconds, b.candidate.workers);
}

/// Whether `known` has the same rows, in any order of lists, is as fast and no larger.
bool is_as_good_in_another_order(const Prediction& known, const Prediction& other) {
  Candidate same = other.candidate;
  same.choice.schedule = known.candidate.choice.schedule;
  same.choice.in_flight = known.candidate.choice.in_flight;
  return known.candidate == same && known.step_seconds <= other.step_seconds * (1.0 + kSame) &&
         known.memory.total_bytes() <= other.memory.total_bytes();
}

void require_possible(const PlanInput& input, const SearchOptions& options) {
  const int workers = options.workers;
  if (workers > input.cluster.num_devices()) {
    throw ConfigError(fmt::format("-n {}: {} has {} devices", workers, input.cluster.name,
                                  input.cluster.num_devices()));
  }
  if (options.shapes == Shapes::kWhole && workers > input.job.training.microbatches) {
    throw ConfigError(fmt::format(
        "-n {}: training.microbatches {} cannot be shared by so many; use fewer, or more "
        "micro-batches (that changes the numbers, and wants a profile of its own)",
        workers, input.job.training.microbatches));
  }
}

/// Tries layouts and keeps the best ones.
class Ranking {
 public:
  Ranking(const PlanInput& input, std::size_t most) : input_(input), most_(most) {}

  /// Tries a data-parallel layout.
  void try_whole(const Candidate& candidate) { (void)try_layout(candidate); }
  /// Tries networks apart and stages. If they do not fit, tries slower variants with less memory.
  void try_stages(int workers) {
    StagePlanner::Candidates candidates = stages().candidates(workers);
    search_.left_out += candidates.left_out;
    for (const Candidate& candidate : candidates.layouts) {
      const std::optional<Tried> tried = try_layout(candidate);
      if (!tried || tried->fits) {
        continue;
      }
      const Candidate spare = stages().with_least_memory(candidate);
      const std::optional<Tried> spared = spare != candidate ? try_layout(spare) : tried;
      bool fits = spared && spared->fits;
      for (const Candidate& other : StagePlanner::with_other_schedules(spare)) {
        const std::optional<Tried> ordered = try_layout(other);
        fits = fits || (ordered && ordered->fits);
      }
      if (!fits) {
        for (const Candidate& fewer : StagePlanner::with_less_in_flight(spare)) {
          (void)try_layout(fewer);
        }
        try_again(candidate, *tried);
      }
    }
  }
  /// Tries the other orders of the ranked rows' lists, and keeps those that are faster or hold
  /// less.
  void try_schedules() {
    const std::vector<Prediction> ranked = search_.ranking;
    for (const Prediction& one : ranked) {
      for (const Candidate& other : StagePlanner::with_other_schedules(one.candidate)) {
        (void)try_layout(other);
      }
    }
  }
  [[nodiscard]] Search take(std::size_t rows) {
    search_.ranking.resize(std::min(search_.ranking.size(), rows));
    return std::move(search_);
  }

 private:
  struct Tried {
    bool fits = false;
    std::int64_t bytes = 0;
  };
  /// @param kept_bytes  memory without layout.recompute, if the layout has it
  /// @return nullopt if the layout cannot enter the ranking
  std::optional<Tried> try_layout(const Candidate& candidate, std::int64_t kept_bytes = 0) {
    std::vector<Prediction>& ranking = search_.ranking;
    if (ranking.size() == most_ && ranking.back().fits &&
        bound_of(candidate) > ranking.back().step_seconds) {
      ++search_.pruned;
      return std::nullopt;
    }
    Prediction prediction =
        candidate.is_whole() ? predict(input_, candidate) : stages().predict(candidate);
    prediction.kept_memory_bytes = kept_bytes;
    ++search_.simulated;
    const Tried tried{.fits = prediction.fits, .bytes = prediction.memory.needed_bytes()};
    if (std::ranges::none_of(ranking, [&](const Prediction& one) {
          return is_as_good_in_another_order(one, prediction);
        })) {
      ranking.insert(std::ranges::upper_bound(ranking, prediction, is_before),
                     std::move(prediction));
      ranking.resize(std::min(ranking.size(), most_));
    }
    return tried;
  }
  /// Tries the layout with recompute, in every order.
  void try_again(Candidate candidate, const Tried& kept) {
    candidate.choice.recompute = true;
    (void)try_layout(candidate, kept.bytes);
    for (const Candidate& other : StagePlanner::with_other_schedules(candidate)) {
      (void)try_layout(other, kept.bytes);
    }
    for (const Candidate& fewer : StagePlanner::with_less_in_flight(candidate)) {
      (void)try_layout(fewer, kept.bytes);
    }
  }

  [[nodiscard]] double bound_of(const Candidate& candidate) {
    return candidate.is_whole() ? least_seconds(input_, candidate.workers)
                                : stages().least_seconds(candidate);
  }
  StagePlanner& stages() {
    if (!stages_) {
      stages_.emplace(input_);
    }
    return *stages_;
  }

  std::optional<StagePlanner> stages_;
  const PlanInput& input_;
  std::size_t most_;
  Search search_;
};

/// Returns worker counts for stages and networks apart: all devices, and each small number.
std::vector<int> staged_counts(const PlanInput& input, int workers) {
  constexpr int kFew = 8;
  if (workers > 0) {
    return {workers};
  }
  std::vector<int> counts;
  for (int count = 2; count <= std::min(kFew, input.cluster.num_devices()); ++count) {
    counts.push_back(count);
  }
  if (input.cluster.num_devices() > kFew) {
    counts.push_back(input.cluster.num_devices());
  }
  return counts;
}

}  // namespace

Search search_layouts(const PlanInput& input, const SearchOptions& options) {
  require_possible(input, options);
  const int workers = options.workers;
  const std::vector<int> counts = workers > 0 ? std::vector{workers} : worker_counts(input);
  Ranking ranking(input, std::max(options.rows, kLeastRows));
  // Start with most workers: their times prune slower layouts.
  for (auto count = counts.rbegin(); count != counts.rend(); ++count) {
    if (*count > input.job.training.microbatches) {
      continue;
    }
    for (const Candidate& candidate : whole_candidates(*count, input)) {
      ranking.try_whole(candidate);
    }
  }
  // A Python step of the job calls all networks.
  if (options.shapes == Shapes::kAll && !input.job.training.step.is_python()) {
    for (const int count : staged_counts(input, workers)) {
      ranking.try_stages(count);
    }
    ranking.try_schedules();
  }
  return ranking.take(options.rows);
}

std::string why_behind(const Prediction& other, const Prediction& best) {
  if (!other.fits) {
    return fmt::format("does not fit: {:.1f} of {:.1f} GiB",
                       static_cast<double>(other.memory.needed_bytes()) / kGibibyte,
                       static_cast<double>(other.memory_limit) / kGibibyte);
  }
  const double slower = other.step_seconds - best.step_seconds;
  if (slower <= kSame * best.step_seconds) {
    return "as fast";
  }
  const auto more = [&](const StepPart& part) {
    return other.parts.*part.seconds - best.parts.*part.seconds;
  };
  const auto most = std::ranges::max_element(kStepParts, {}, more);
  return fmt::format("{} +{:.3g} ms", most->name, more(*most) * 1e3);
}

}  // namespace gangway::plan
