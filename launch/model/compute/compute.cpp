// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/compute/layer_times.hpp"
#include "launch/model/compute/penalty_errors.hpp"
#include "launch/profile/one_worker.hpp"
#include "python/open/python_library.hpp"
#include "report/table.hpp"

namespace gangway::launch {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;

std::string word_of(LayerPart part) {
  switch (part) {
    case LayerPart::kForward:
      return "forward";
    case LayerPart::kInputGradient:
      return "input gradient";
    case LayerPart::kWeightGradient:
      return "weight gradient";
  }
  return {};
}

std::string word_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "fp32"; }

bool is_map(const LayerTime& time) { return time.operations > 0.0; }

/// Returns a rate per second: operations of products, bytes of other layers.
double rate_of(const LayerTime& time) {
  return (is_map(time) ? time.operations : time.bytes) / time.seconds;
}

/// Times of a step in and outside of products.
struct StepShares {
  explicit StepShares(const StepTime& step)
      : share(step.sums.operations / step.seconds / step.limit),
        product_share(step.sums.operations / step.sums.product_seconds / step.limit),
        outside(step.seconds - step.sums.product_seconds) {}
  double share;          ///< of the core, whole step
  double product_share;  ///< of the core, inside of products
  double outside;        ///< seconds
};

std::string percent(double share) { return fmt::format("{:.0f} %", 100.0 * share); }

void print_layers(const std::vector<ComputeTimes>& all) {
  report::Table table({{"layer"},
                       {"what"},
                       {"in"},
                       {"part"},
                       {"ms", Align::kRight},
                       {"GFLOP/s", Align::kRight},
                       {"GB/s", Align::kRight},
                       {"MB", Align::kRight},
                       {"of core limit", Align::kRight}});
  for (const ComputeTimes& times : all) {
    for (const LayerTime& time : times.layers) {
      const std::string rate = fmt::format("{:.1f}", rate_of(time) / kGiga);
      table.add_row({time.layer, time.what, word_of(times.precision), word_of(time.part),
                     fmt::format("{:.3f}", time.seconds * 1e3), is_map(time) ? rate : "-",
                     is_map(time) ? "-" : rate, fmt::format("{:.1f}", time.bytes / kMega),
                     percent(rate_of(time) / time.limit)});
    }
  }
  fmt::print("{}\n", table.text());
}

void print_errors(const std::vector<PenaltyError>& errors, int examples) {
  report::Table table({{"penalty"},
                       {"network"},
                       {"in"},
                       {"error of its norms", Align::kRight},
                       {"of its gradient", Align::kRight}});
  for (const PenaltyError& error : errors) {
    table.add_row({error.penalty, error.network,
                   error.precision == Precision::kFp32 ? "fp32, tf32" : "bf16",
                   fmt::format("{:.1e}", error.norms), fmt::format("{:.1e}", error.weights)});
  }
  fmt::print("{}beside float64, over {} examples of noise; a CPU computes tf32 as fp32\n",
             table.text(), examples);
}

void print_steps(const std::vector<ComputeTimes>& all) {
  report::Table table({{"whole step"},
                       {"ms", Align::kRight},
                       {"GFLOP", Align::kRight},
                       {"of core limit", Align::kRight},
                       {"ms in products", Align::kRight},
                       {"of core limit", Align::kRight},
                       {"ms outside", Align::kRight},
                       {"of the step", Align::kRight},
                       {"MB", Align::kRight},
                       {"core, GFLOP/s", Align::kRight}});
  for (const ComputeTimes& times : all) {
    const StepTime& step = times.step;
    const StepShares shares(step);
    table.add_row({fmt::format("{} images, {}", step.images, word_of(times.precision)),
                   fmt::format("{:.1f}", step.seconds * 1e3),
                   fmt::format("{:.2f}", step.sums.operations / kGiga), percent(shares.share),
                   fmt::format("{:.1f}", step.sums.product_seconds * 1e3),
                   percent(shares.product_share), fmt::format("{:.1f}", shares.outside * 1e3),
                   percent(shares.outside / step.seconds),
                   fmt::format("{:.0f}", step.sums.bytes / kMega),
                   fmt::format("{:.1f}", step.limit / kGiga)});
  }
  fmt::print("{}", table.text());
}

void print_json(const std::vector<ComputeTimes>& all, const std::vector<PenaltyError>& errors) {
  nlohmann::ordered_json json{{"rows", nlohmann::ordered_json::array()},
                              {"steps", nlohmann::ordered_json::array()},
                              {"penalties", nlohmann::ordered_json::array()}};
  for (const ComputeTimes& times : all) {
    for (const LayerTime& time : times.layers) {
      json["rows"].push_back({{"layer", time.layer},
                              {"what", time.what},
                              {"precision", word_of(times.precision)},
                              {"part", word_of(time.part)},
                              {"seconds", time.seconds},
                              {"bytes", time.bytes},
                              {is_map(time) ? "gflops" : "gbytes", rate_of(time) / kGiga},
                              {"share", rate_of(time) / time.limit}});
    }
    const StepTime& step = times.step;
    const StepShares shares(step);
    json["steps"].push_back({{"precision", word_of(times.precision)},
                             {"images", step.images},
                             {"seconds", step.seconds},
                             {"gflop", step.sums.operations / kGiga},
                             {"share", shares.share},
                             {"product_seconds", step.sums.product_seconds},
                             {"product_share", shares.product_share},
                             {"outside_seconds", shares.outside},
                             {"bytes", step.sums.bytes},
                             {"core_gflops", step.limit / kGiga}});
  }
  for (const PenaltyError& error : errors) {
    json["penalties"].push_back({{"penalty", error.penalty},
                                 {"network", error.network},
                                 {"precision", word_of(error.precision)},
                                 {"error_of_norms", error.norms},
                                 {"error_of_gradient", error.weights}});
  }
  fmt::print("{}\n", json.dump());
}

}  // namespace

void bench_compute(const ComputeOptions& options) {
  JobSpec job = load_job({.file = options.job_file, .overrides = options.overrides}).spec;
  if (job.numerics.device != DeviceKind::kCpu) {
    throw ConfigError("bench compute measures a core: give it numerics.device=cpu");
  }
  std::vector<Precision> precisions{Precision::kFp32};
  if (std::ranges::any_of(job.networks, [](const NetworkSpec& network) {
        return network.precision == Precision::kBf16;
      })) {
    precisions.push_back(Precision::kBf16);
  }
  python::open_python(job, job.layout);
  keep_freed_memory();
  std::vector<ComputeTimes> all;
  for (const Precision precision : precisions) {
    all.push_back(compute_times(job, precision, options.seconds));
  }
  const std::vector<PenaltyError> errors = penalty_errors(job);
  if (options.format == OutputFormat::kJson) {
    return print_json(all, errors);
  }
  print_layers(all);
  print_steps(all);
  if (!errors.empty()) {
    print_errors(errors, examples_of_penalties(job));
  }
}

}  // namespace gangway::launch
