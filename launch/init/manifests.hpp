// SPDX-License-Identifier: MIT
// What `gangway init` writes: the job and the places asked for, as a text for Slurm, for Kubernetes
// and for a builder of containers. Pure.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::launch {

/// What all of them are made from.
struct Manifest {
  JobSpec spec;
  std::string name;                    ///< of the run
  std::filesystem::path job_file;      ///< absolute
  std::string job_text;                ///< what is in it
  std::vector<std::string> overrides;  ///< keys of the job, as typed
  int workers = 1;
  int nodes = 1;
  int gpus_per_node = 0;
  std::optional<std::chrono::seconds> time;  ///< nothing: no limit
  std::chrono::seconds grace{120};           ///< for a save, between the warning and the end
  std::string image = "gangway";             ///< of containers
  std::filesystem::path gangway;             ///< this program, absolute
  std::filesystem::path outdir = "runs";     ///< absolute
  std::filesystem::path folder = "/";  ///< where init was called: the job's paths are from there
  std::string command;                 ///< that makes the text again
  std::filesystem::path file;          ///< in which it will be
  /// Workers of the fullest node.
  [[nodiscard]] int workers_per_node() const { return (workers + nodes - 1) / nodes; }
};

/// @throws ConfigError, one line, where the job cannot have so many workers, or nodes would be
/// empty or hold more workers than GPUs.
void require_places(const Manifest& manifest);

[[nodiscard]] std::string slurm_script(const Manifest& manifest);
[[nodiscard]] std::string kubernetes_job(const Manifest& manifest);
[[nodiscard]] std::string container_file(const Manifest& manifest);

/// As Kubernetes names things: lower-case letters, digits and hyphens, no more than 40.
[[nodiscard]] std::string kubernetes_name(const std::string& run_name);

/// As sbatch --time takes it: MINUTES, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
/// @throws ConfigError
[[nodiscard]] std::chrono::seconds parse_time_limit(const std::string& text);

/// D-HH:MM:SS.
[[nodiscard]] std::string slurm_time(std::chrono::seconds time);

}  // namespace gangway::launch
