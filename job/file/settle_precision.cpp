// SPDX-License-Identifier: MIT
#include "job/file/settle_precision.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/ranges.h>

#include "job/choices.hpp"

namespace gangway {
namespace {

/// Returns the description of this host's processors; empty if there is none.
std::string this_cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Returns the words behind "flags :" of the first processor.
std::set<std::string> flags_of(std::string_view cpuinfo) {
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
      return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
    }
  }
  return {};
}

const NetworkSpec* network_in(const std::optional<JobSpec>& job, const std::string& name) {
  if (!job) {
    return nullptr;
  }
  const auto found = std::ranges::find(job->networks, name, &NetworkSpec::name);
  return found == job->networks.end() ? nullptr : &*found;
}

}  // namespace

Precision fastest_precision(DeviceKind device, std::string_view cpuinfo) {
  if (device == DeviceKind::kCuda) {
    return Precision::kBf16;
  }
  const std::set<std::string> flags = flags_of(cpuinfo);
  return flags.contains("avx512_bf16") || flags.contains("amx_bf16") ? Precision::kBf16
                                                                     : Precision::kFp32;
}

bool has_open_precision(const JobSpec& job) {
  return std::ranges::any_of(job.networks, [](const NetworkSpec& network) {
    return network.precision == Precision::kAuto;
  });
}

std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before,
                             Precision fastest) {
  std::vector<std::string> settled;
  bool is_kept = false;
  for (NetworkSpec& network : job.networks) {
    if (network.precision != Precision::kAuto) {
      continue;
    }
    const NetworkSpec* old = network_in(before, network.name);
    const bool has_old = old != nullptr && old->precision != Precision::kAuto;
    is_kept = is_kept || has_old;
    network.precision = has_old ? old->precision : fastest;
    settled.push_back(fmt::format("{} {}", network.name, name_of(network.precision)));
  }
  if (settled.empty()) {
    return {};
  }
  const char* why = is_kept                                    ? "as when the run was begun"
                    : job.numerics.device == DeviceKind::kCuda ? "GPUs multiply bf16"
                    : fastest == Precision::kBf16              ? "this processor multiplies bf16"
                                                  : "this processor does not multiply bf16";
  return fmt::format("numerics.precision auto: {} ({})", fmt::join(settled, ", "), why);
}

std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before) {
  return settle_precision(job, before, fastest_precision(job.numerics.device, this_cpuinfo()));
}

std::optional<JobSpec> job_in(const std::filesystem::path& job_yaml) {
  try {
    return load_job({.file = job_yaml, .is_stored = true}).spec;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace gangway
