// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/compute/core_peak.hpp"
#include "launch/model/compute/layer_times.hpp"
#include "launch/model/compute/penalty_errors.hpp"
#include "python/open/python_library.hpp"
#include "report/table.hpp"

namespace gangway::launch {
namespace {

constexpr double kGiga = 1e9;

/// Peak rates of a core.
struct CoreLimits {
  double flops = 0.0;
  double bf16_flops = 0.0;                    ///< 0: not measured
  std::map<std::int64_t, double> copy_rates;  ///< by tensor size in bytes
};

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

/// Returns a rate per second: operations of a linear map, bytes of other layers.
double rate_of(const LayerTime& time) {
  const double amount =
      is_map(time) ? time.operations : time.tensors_moved * static_cast<double>(time.tensor_bytes);
  return amount / time.seconds;
}

double limit_of(const LayerTime& time, const CoreLimits& limits) {
  if (!is_map(time)) {
    return limits.copy_rates.at(time.tensor_bytes);
  }
  return time.precision == Precision::kBf16 ? limits.bf16_flops : limits.flops;
}

CoreLimits limits_for(const std::vector<LayerTime>& times, double seconds) {
  CoreLimits limits{.flops = core_flops(seconds)};
  for (const LayerTime& time : times) {
    if (!is_map(time) && !limits.copy_rates.contains(time.tensor_bytes)) {
      limits.copy_rates[time.tensor_bytes] = copy_rate(time.tensor_bytes, seconds);
    }
    if (is_map(time) && time.precision == Precision::kBf16 && limits.bf16_flops == 0.0) {
      limits.bf16_flops = bf16_flops(seconds);
    }
  }
  return limits;
}

void print_table(const std::vector<LayerTime>& times, const CoreLimits& limits) {
  report::Table table({{"layer"},
                       {"what"},
                       {"in"},
                       {"part"},
                       {"ms", Align::kRight},
                       {"GFLOP/s", Align::kRight},
                       {"GB/s", Align::kRight},
                       {"of core limit", Align::kRight}});
  for (const LayerTime& time : times) {
    const std::string rate = fmt::format("{:.1f}", rate_of(time) / kGiga);
    table.add_row({time.layer, time.what, word_of(time.precision), word_of(time.part),
                   fmt::format("{:.3f}", time.seconds * 1e3), is_map(time) ? rate : "-",
                   is_map(time) ? "-" : rate,
                   fmt::format("{:.0f} %", 100.0 * rate_of(time) / limit_of(time, limits))});
  }
  fmt::print("{}\nthe core: {:.1f} GFLOP/s of fused multiply-adds in registers", table.text(),
             limits.flops / kGiga);
  if (limits.bf16_flops > 0.0) {
    fmt::print("; {:.1f} GFLOP/s of the best bf16 product seen", limits.bf16_flops / kGiga);
  }
  for (const auto& [bytes, rate] : limits.copy_rates) {
    fmt::print("; {:.1f} GB/s of copying {} kB", rate / kGiga, bytes / 1000);
  }
  fmt::print("\n");
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

void print_json(const std::vector<LayerTime>& times, const CoreLimits& limits,
                const std::vector<PenaltyError>& errors) {
  nlohmann::ordered_json json{{"core_gflops", limits.flops / kGiga},
                              {"bf16_gflops", limits.bf16_flops / kGiga},
                              {"rows", nlohmann::ordered_json::array()},
                              {"penalties", nlohmann::ordered_json::array()}};
  for (const LayerTime& time : times) {
    json["rows"].push_back({{"layer", time.layer},
                            {"what", time.what},
                            {"precision", word_of(time.precision)},
                            {"part", word_of(time.part)},
                            {"seconds", time.seconds},
                            {is_map(time) ? "gflops" : "gbytes", rate_of(time) / kGiga},
                            {"share", rate_of(time) / limit_of(time, limits)}});
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
  std::vector<LayerTime> times;
  for (const Precision precision : precisions) {
    std::ranges::move(layer_times(job, precision, options.seconds), std::back_inserter(times));
  }
  const std::vector<PenaltyError> errors = penalty_errors(job);
  if (times.empty() && errors.empty()) {
    throw ConfigError(
        "bench compute: the job has no penalties, and its networks have no layers that it knows "
        "(dcgan, infogan, mlp and the like have)");
  }
  const CoreLimits limits = limits_for(times, options.seconds);
  if (options.format == OutputFormat::kJson) {
    return print_json(times, limits, errors);
  }
  if (!times.empty()) {
    print_table(times, limits);
  }
  if (!errors.empty()) {
    print_errors(errors, examples_of_penalties(job));
  }
}

}  // namespace gangway::launch
