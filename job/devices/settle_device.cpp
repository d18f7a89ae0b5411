// SPDX-License-Identifier: MIT
#include "job/devices/settle_device.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/ranges.h>

#include "job/choices.hpp"
#include "job/estimate/device_estimate.hpp"
#include "job/layout/layout.hpp"

namespace gangway {
namespace {

constexpr const char* kAsBegun = "as when the run was begun";

const NetworkSpec* network_in(const std::optional<JobSpec>& job, const std::string& name) {
  if (!job) {
    return nullptr;
  }
  const auto found = std::ranges::find(job->networks, name, &NetworkSpec::name);
  return found == job->networks.end() ? nullptr : &*found;
}

/// @return a line; empty: no network had auto
std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before,
                             const DeviceFacts& device) {
  std::vector<std::string> settled;
  bool is_kept = false;
  for (NetworkSpec& network : job.networks) {
    if (network.precision != Precision::kAuto) {
      continue;
    }
    const NetworkSpec* old = network_in(before, network.name);
    const bool has_old = old != nullptr && old->precision != Precision::kAuto;
    is_kept = is_kept || has_old;
    network.precision = has_old ? old->precision : device.precision;
    settled.push_back(fmt::format("{} {}", network.name, name_of(network.precision)));
  }
  if (settled.empty()) {
    return {};
  }
  const std::string why =
      is_kept
          ? kAsBegun
          : fmt::format("{} {} bf16", device.name,
                        device.precision == Precision::kFp32 ? "does not multiply" : "multiplies");
  return fmt::format("numerics.precision auto: {} ({})", fmt::join(settled, ", "), why);
}

/// @pre the precisions are settled. @return a line; empty: the key did not have auto
std::string settle_memory_format(JobSpec& job, const std::optional<JobSpec>& before,
                                 const DeviceFacts& device) {
  MemoryFormat& format = job.numerics.memory_format;
  if (format != MemoryFormat::kAuto) {
    return {};
  }
  std::string why = kAsBegun;
  if (before && before->numerics.memory_format != MemoryFormat::kAuto) {
    format = before->numerics.memory_format;
  } else {
    const bool is_contiguous =
        job.numerics.device == DeviceKind::kCuda &&
        std::ranges::all_of(job.networks, [&](const NetworkSpec& network) {
          return std::ranges::find(device.contiguous, network.precision) != device.contiguous.end();
        });
    format = is_contiguous ? MemoryFormat::kContiguous : MemoryFormat::kChannelsLast;
    why = fmt::format("{} is faster with it in {}", device.name,
                      name_of(job.networks[job.shown_network()].precision));
  }
  return fmt::format("numerics.memory_format auto: {} ({})", name_of(format), why);
}

/// Returns the buckets of the largest network; 0: the job has networks of unknown size.
int num_buckets(const JobSpec& job, std::int64_t bucket_bytes) {
  constexpr std::int64_t kFloat = 4;
  std::int64_t largest = 0;
  for (const Architecture& network : job.architectures()) {
    if (python_in(network) != nullptr) {
      return 0;
    }
    largest = std::max(largest, num_parameters(network));
  }
  return static_cast<int>(
      std::clamp<std::int64_t>(kFloat * largest / bucket_bytes, 1, kMostBuckets));
}

}  // namespace

bool has_open_numbers(const JobSpec& job) {
  return job.numerics.memory_format == MemoryFormat::kAuto ||
         std::ranges::any_of(job.networks, [](const NetworkSpec& network) {
           return network.precision == Precision::kAuto;
         });
}

std::vector<std::string> settle_numbers(JobSpec& job, const std::optional<JobSpec>& before,
                                        const DeviceFacts& device) {
  std::vector<std::string> lines;
  lines.push_back(settle_precision(job, before, device));
  lines.push_back(settle_memory_format(job, before, device));
  std::erase(lines, "");
  return lines;
}

std::vector<std::string> settle_layout(JobSpec& job, int workers, const DeviceFacts& device) {
  std::vector<std::string> lines;
  if (job.numerics.device != DeviceKind::kCuda) {
    return lines;
  }
  LayoutChoice& layout = job.layout;
  if (layout.cuda_graph == GraphChoice::kAuto && device.cuda_graph != GraphChoice::kAuto &&
      why_not_recorded(job, resolve_layout(job, workers)).empty()) {
    layout.cuda_graph = device.cuda_graph;
    lines.push_back(
        fmt::format("numerics.cuda_graph auto: {} ({})", name_of(layout.cuda_graph), device.name));
  }
  if (workers == 1) {
    return lines;  // nothing is exchanged
  }
  if (layout.nccl_ctas == 0 && device.nccl_ctas > 0) {
    layout.nccl_ctas = device.nccl_ctas;
    lines.push_back(fmt::format("layout.nccl_ctas auto: {} ({})", layout.nccl_ctas, device.name));
  }
  const int buckets =
      layout.buckets == 0 && device.bucket_bytes > 0 ? num_buckets(job, device.bucket_bytes) : 0;
  if (buckets > 0) {
    layout.buckets = buckets;
    lines.push_back(fmt::format("layout.buckets auto: {} ({}, {} MiB a bucket at least)", buckets,
                                device.name, device.bucket_bytes >> 20));
  }
  return lines;
}

}  // namespace gangway
