// SPDX-License-Identifier: MIT
// gangway-bench-plan: compares predictions with emulated steps. Prints a row and error for each
// layout, the regret of searches, the bubble of equal stages, and the gain of micro-batches moved
// from a slow worker.
#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <numeric>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "bench/plan/emulated_jobs.hpp"
#include "bench/plan/emulated_run.hpp"
#include "plan/ranking/search.hpp"
#include "plan/stages/predict_stages.hpp"
#include "plan/stages/shown_layout.hpp"

namespace gangway::bench {
namespace {

using plan::Candidate;
using plan::PlanInput;

struct Options {
  int steps = 5;
  double slower = 1.0;
  bool layouts = true;
  bool searches = true;
  bool bubbles = true;
  bool balance = true;
};

/// Emulates up to kTries times, and returns the run with the smallest late wake-ups.
EmulatedStep least_disturbed(const PlanInput& input, const Candidate& candidate,
                             const Options& options) {
  constexpr int kTries = 4;
  constexpr double kQuietSeconds = 0.003;  // a sleeper makes up for smaller delays
  EmulatedStep best{.late_seconds = 1e9};
  for (int i = 0; i < kTries && best.late_seconds > kQuietSeconds; ++i) {
    const EmulatedStep step = emulated_step(input, input.costs.phases(), candidate, options.steps);
    best = step.late_seconds < best.late_seconds ? step : best;
  }
  return best;
}

double predicted_seconds(const PlanInput& input, const Candidate& candidate) {
  return candidate.is_whole() ? plan::predict(input, candidate).step_seconds
                              : plan::StagePlanner(input).predict(candidate).step_seconds;
}

/// Collects prediction errors.
class Errors {
 public:
  void add(double error) {
    sum_ += std::abs(error);
    worst_ = std::max(worst_, std::abs(error));
    ++count_;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} layouts: error mean {:.1f} %, worst {:.1f} %", count_,
                       sum_ / count_ * 100.0, worst_ * 100.0);
  }

 private:
  double sum_ = 0.0;
  double worst_ = 0.0;
  int count_ = 0;
};

/// Emulates a candidate and prints its row.
void compare(const PlanCase& of, const PlanInput& input, const Candidate& candidate,
             const Options& options, Errors& errors) {
  const EmulatedStep emulated = least_disturbed(input, candidate, options);
  const double predicted = predicted_seconds(input, candidate);
  const double error = predicted / emulated.seconds - 1.0;
  errors.add(error);
  fmt::print("{:<30}{:>4}  {:<58}{:>12.2f}{:>9.1f}{:>13.2f}{:>+8.1f} %\n", of.machines.name,
             of.microbatches, describe(candidate), emulated.seconds * 1e3,
             emulated.late_seconds * 1e3, predicted * 1e3, error * 100.0);
  (void)std::fflush(stdout);
}

std::vector<PlanCase> whole_cases() {
  return {{{"one device", 1, 1}, 2},
          {{"one host of 2", 1, 2}, 4},
          {{"one host of 3, uneven", 1, 3}, 4},
          {{"one host of 4", 1, 4}, 8},
          {{"one host of 2, one slow", 1, 2, 1e9, 0.7}, 4},
          {{"2 hosts, fast link", 2, 1, 1e9}, 4},
          {{"2 hosts, slow link", 2, 1, 5e7}, 4},
          {{"2 hosts, slower link", 2, 1, 2e7}, 2},
          {{"2 hosts of 2, slow link", 2, 2, 5e7}, 4},
          {{"3 hosts, slow link, uneven", 3, 1, 5e7}, 8},
          {{"4 hosts, slow link, one slow", 4, 1, 1e8, 0.8}, 8},
          {{"3 hosts of 2, slow link", 3, 2, 1e8}, 6}};
}

/// Cases to emulate all candidates of a plan for. Layouts that cut all networks run in every order.
std::vector<PlanCase> staged_cases() {
  return {{{"one host of 2", 1, 2}, 8, BlockShape::kEven},
          {{"one host of 2", 1, 2}, 4, BlockShape::kImages},
          {{"2 hosts, slow link", 2, 1, 5e7}, 8, BlockShape::kDense},
          {{"one host of 3", 1, 3}, 12, BlockShape::kImages},
          {{"2 hosts of 2, slow link", 2, 2, 5e7}, 8, BlockShape::kEven},
          {{"4 hosts, fast link", 4, 1, 1e9}, 16, BlockShape::kDense},
          {{"3 hosts of 2, slow link", 3, 2, 1e8}, 12, BlockShape::kImages}};
}

void compare_layouts(const Options& options) {
  fmt::print("{:<30}{:>4}  {:<58}{:>12}{:>9}{:>13}{:>9}\n", "machines", "M", "layout",
             "emulated ms", "late ms", "predicted ms", "error");
  Errors whole;
  for (const PlanCase& of : whole_cases()) {
    const auto planner = emulated_planner(of, options.slower);
    for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
      compare(of, planner->input(),
              plan::whole_candidate(planner->input().job, of.machines.nodes * of.machines.devices,
                                    overlap),
              options, whole);
    }
  }
  Errors staged;
  for (const PlanCase& of : staged_cases()) {
    const auto planner = emulated_planner(of, options.slower);
    const plan::StagePlanner stages(planner->input());
    for (const Candidate& candidate :
         stages.candidates(of.machines.nodes * of.machines.devices).layouts) {
      compare(of, planner->input(), candidate, options, staged);
      const bool are_all_cut = plan::ShownLayout::is_row(candidate);
      for (const Candidate& other : plan::StagePlanner::with_other_schedules(candidate)) {
        if (are_all_cut) {
          compare(of, planner->input(), other, options, staged);
        }
      }
    }
  }
  fmt::print("whole networks: {}\nnetworks on separate workers and stages: {}\n", whole.text(),
             staged.text());
}

std::vector<PlanCase> search_cases() {
  return {{{"one host of 2", 1, 2}, 8, BlockShape::kImages},
          {{"one host of 4", 1, 4}, 8, BlockShape::kDense},
          {{"2 hosts, fast link", 2, 1, 1e9}, 4, BlockShape::kEven},
          {{"2 hosts, slow link", 2, 1, 5e7}, 8, BlockShape::kImages},
          {{"2 hosts, slower link", 2, 1, 1e7}, 8, BlockShape::kDense},
          {{"2 hosts of 2, slow link", 2, 2, 2e7}, 8, BlockShape::kImages},
          {{"3 hosts, slow link", 3, 1, 3e7}, 6, BlockShape::kEven},
          {{"3 hosts, one slow", 3, 1, 1e8, 0.6}, 12, BlockShape::kImages},
          {{"4 hosts, slow link", 4, 1, 2e7}, 12, BlockShape::kDense},
          {{"one host of 4, one slow", 1, 4, 1e9, 0.5}, 8, BlockShape::kEven}};
}

/// Maximum of emulated layouts of a search. Layouts far behind cannot be the best.
constexpr std::size_t kMostEmulated = 8;

void search_and_measure(const Options& options) {
  fmt::print("\n{:<26}{:>4}  {:<52}{:>10}{:>9}  {}\n", "search", "M", "first", "emulated", "regret",
             "best of those emulated");
  double worst = 0.0;
  for (const PlanCase& of : search_cases()) {
    const auto planner = emulated_planner(of, options.slower);
    const PlanInput input = planner->input();
    const plan::Search search =
        plan::search_layouts(input, {.rows = kMostEmulated, .shapes = plan::Shapes::kAll});
    std::vector<double> seconds;
    for (const plan::Prediction& one : search.ranking) {
      seconds.push_back(least_disturbed(input, one.candidate, options).seconds);
    }
    const auto best = std::ranges::min_element(seconds);
    const double regret = seconds.front() / *best - 1.0;
    worst = std::max(worst, regret);
    fmt::print(
        "{:<26}{:>4}  {:<52}{:>10.2f}{:>+7.1f} %  {} of {}: {}\n", of.machines.name,
        of.microbatches, describe(search.ranking.front().candidate), seconds.front() * 1e3,
        regret * 100.0, best - seconds.begin() + 1, seconds.size(),
        describe(search.ranking[static_cast<std::size_t>(best - seconds.begin())].candidate));
    (void)std::fflush(stdout);
  }
  fmt::print("{} searches: regret {:.1f} % at most\n", search_cases().size(), worst * 100.0);
}

/// Measures the bubble: the share of a step in which a worker computes nothing. Cuts both networks
/// into one equal stage for each worker, in every order and placement.
void measure_bubbles(const Options& options) {
  fmt::print("\n{:<12}{:<66}{:>12}{:>13}{:>9}\n", "stages x M", "layout", "emulated ms",
             "predicted ms", "bubble");
  for (const auto& [stages, microbatches] : {std::pair(4, 8), std::pair(8, 8), std::pair(8, 16)}) {
    const PlanCase of{{"one host", 1, stages}, microbatches, BlockShape::kSixteen};
    const auto planner = emulated_planner(of, options.slower);
    const PlanInput input = planner->input();
    std::vector<Candidate> layouts;
    for (const Candidate& one : plan::StagePlanner(input).candidates(stages).layouts) {
      const auto is_in_all = [&](const NetworkPlacement& network) {
        return network.cuts && static_cast<int>(network.cuts->size()) == stages - 1;
      };
      if (std::ranges::all_of(one.choice.networks, is_in_all)) {
        layouts.push_back(one);
        std::ranges::move(plan::StagePlanner::with_other_schedules(one),
                          std::back_inserter(layouts));
      }
    }
    for (const Candidate& candidate : layouts) {
      const EmulatedStep step = least_disturbed(input, candidate, options);
      fmt::print("{:<12}{:<66}{:>12.2f}{:>13.2f}{:>7.1f} %\n",
                 fmt::format("{} x {}", stages, microbatches), describe(candidate),
                 step.seconds * 1e3, predicted_seconds(input, candidate) * 1e3,
                 step.bubble() * 100.0);
      (void)std::fflush(stdout);
    }
  }
}

/// Compares even shares with balanced ones (coordinator/steering/balance.hpp), on four workers, one
/// of them at half speed.
void measure_balance(const Options& options) {
  fmt::print("\n{:<26}{:>4}  {:<16}{:>12}{:>12}{:>10}\n", "balance", "M", "shares", "even ms",
             "balanced ms", "faster");
  const std::vector<std::vector<int>> balanced{{1, 1, 1, 1}, {3, 2, 2, 1}, {5, 5, 4, 2}};
  for (const std::vector<int>& shares : balanced) {
    const int microbatches = std::accumulate(shares.begin(), shares.end(), 0);
    const PlanCase of{{"one host of 4, one slow", 1, 4, 1e9, 0.5}, microbatches, BlockShape::kEven};
    const auto planner = emulated_planner(of, options.slower);
    Candidate candidate = plan::whole_candidate(planner->input().job, 4);
    const double even = least_disturbed(planner->input(), candidate, options).seconds;
    candidate.choice.shares = shares;
    const double moved = least_disturbed(planner->input(), candidate, options).seconds;
    fmt::print("{:<26}{:>4}  {:<16}{:>12.2f}{:>12.2f}{:>9.2f}x\n", of.machines.name, microbatches,
               fmt::format("[{}]", fmt::join(shares, ", ")), even * 1e3, moved * 1e3, even / moved);
    (void)std::fflush(stdout);
  }
}

int run(const Options& options) {
  if (options.layouts) {
    compare_layouts(options);
  }
  if (options.searches) {
    search_and_measure(options);
  }
  if (options.bubbles) {
    measure_bubbles(options);
  }
  if (options.balance) {
    measure_balance(options);
  }
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  CLI::App app("Compares steps whose operations sleep their cost with the plan's prediction",
               "gangway-bench-plan");
  gangway::bench::Options options;
  app.add_option("--steps", options.steps, "Steps that are timed")->capture_default_str();
  app.add_option("--slower", options.slower,
                 "Factor on all costs: a machine that does other work disturbs less")
      ->capture_default_str()
      ->check(CLI::Range(0.5, 100.0));
  app.add_flag("!--no-layouts", options.layouts, "Without the table of layouts");
  app.add_flag("!--no-searches", options.searches, "Without the searches");
  app.add_flag("!--no-bubbles", options.bubbles, "Without the bubbles of equal stages");
  app.add_flag("!--no-balance", options.balance, "Without moving micro-batches off a slow worker");
  CLI11_PARSE(app, argc, argv);
  try {
    return gangway::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gangway-bench-plan: {}\n", error.what());
    return 1;
  }
}
