// Settles `numerics.precision: auto`. A resumed run keeps the precision that it began with; a new
// run takes the fastest of the machine that settles it. Settled once, before anything hashes the
// job, so that job.yaml and all workers agree. Called by the coordinator and by `gangway run`; any
// thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "job/file/parse.hpp"

namespace gangway {

/// Returns bf16 on GPUs, and on processors with bf16 products (avx512_bf16 or amx_bf16 in the flags
/// of `cpuinfo`). Else fp32, because bf16 is slower there.
[[nodiscard]] Precision fastest_precision(DeviceKind device, std::string_view cpuinfo);

/// Replaces auto in the networks of `job`: by the value of the same network in `before`, if there
/// is one, else by `fastest`. Returns a line that names both; empty: no network had auto.
[[nodiscard]] std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before,
                                           Precision fastest);

/// Same, with the fastest precision of this host's processor.
[[nodiscard]] std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before);

/// Returns whether a network still has auto.
[[nodiscard]] bool has_open_precision(const JobSpec& job);

/// Reads a run's job.yaml; nothing if there is none, or none that this version can read.
[[nodiscard]] std::optional<JobSpec> job_in(const std::filesystem::path& job_yaml);

}  // namespace gangway
