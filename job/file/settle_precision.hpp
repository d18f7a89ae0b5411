// SPDX-License-Identifier: MIT
// What `numerics.precision: auto` stands for: of a run that goes on, what it stood for when the run
// was begun; else what the machine that settles it is fast in. Settled once, before anything hashes
// the job, so that job.yaml and all workers have one answer. Called by the coordinator and by
// `gangway run`; any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "job/file/parse.hpp"

namespace gangway {

/// bf16 on GPUs, and where the processor multiplies it (avx512_bf16 or amx_bf16 among the flags of
/// `cpuinfo`); else fp32, than which bf16 is slower there.
[[nodiscard]] Precision fastest_precision(DeviceKind device, std::string_view cpuinfo);

/// Replaces auto in the networks of `job`: by what the network of the same name has in `before`, if
/// there is one, else by `fastest`. Returns a line that names both; empty: nothing said auto.
[[nodiscard]] std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before,
                                           Precision fastest);

/// The same by this host's processor.
[[nodiscard]] std::string settle_precision(JobSpec& job, const std::optional<JobSpec>& before);

/// Whether a network still says auto.
[[nodiscard]] bool has_open_precision(const JobSpec& job);

/// The job in a run's job.yaml; nothing where there is none, or none that this version knows.
[[nodiscard]] std::optional<JobSpec> job_in(const std::filesystem::path& job_yaml);

}  // namespace gangway
