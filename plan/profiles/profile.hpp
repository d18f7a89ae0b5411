// SPDX-License-Identifier: MIT
// The costs of a job on one kind of device. `gangway profile` measures and writes them as JSON, and
// `gangway plan` reads them. Pure except for the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/calibrate/link_table.hpp"
#include "job/spec.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::plan {

/// Median and scatter of repeated measurements.
struct Timing {
  double seconds = 0.0;  ///< median
  double scatter = 0.0;  ///< seconds; half the distance between the quartiles
  bool operator==(const Timing&) const = default;
};

/// Returns the median and scatter of `samples`; zeros if it is empty.
[[nodiscard]] Timing timing_of(std::vector<double> samples);

/// The time of one kind of instruction for one micro-batch, run by the worker's own code.
struct InstructionCost {
  pipeline::Operation operation = pipeline::Operation::kForward;
  std::string network;
  int phase = 0;
  int pass = 0;
  int node = 0;
  Timing time;
  bool operator==(const InstructionCost&) const = default;
};

/// The costs of one block of a network for one micro-batch, measured alone.
struct BlockCost {
  std::string network;
  int block = 0;
  Timing forward;             ///< with its graph
  Timing input_gradient;      ///< zero if no input of the block has a gradient
  Timing weight_gradient;     ///< extra time on top of the input gradient
  std::int64_t kept_bytes{};  ///< kept from forward to backward, the block's outputs included
  std::int64_t output_bytes{};
  std::int64_t parameters{};
  bool operator==(const BlockCost&) const = default;
};

/// A bucket: gradients that are reduced together.
struct BucketSize {
  std::int64_t elements = 0;  ///< of the arena
  int first_block = 0;        ///< block of the network whose gradients complete the bucket
  bool operator==(const BucketSize&) const = default;
};

struct NetworkCost {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t arena_elements = 0;  ///< of each arena: padding and statistics included
  int moments = 0;
  bool is_averaged = false;
  bool is_frozen = false;
  Timing update;  ///< of the whole network by one worker: sum of one partial, optimiser, average
  std::vector<BucketSize> buckets;  ///< in the order in which they become ready
  bool operator==(const NetworkCost&) const = default;
};

/// The memory of the profiled process in the host, by use.
struct MemoryCost {
  std::int64_t process_bytes = 0;  ///< resident before the job's tensors: programs and libraries
  std::int64_t working_bytes = 0;  ///< peak of tensors of a step's compute, arenas excluded
  /// Rest of the peak resident bytes of a worker alone: allocator, batches, queues.
  std::int64_t other_bytes = 0;
  bool operator==(const MemoryCost&) const = default;
};

struct Profile {
  std::string job;         ///< file of the profiled job
  std::string costs_hash;  ///< costs_fingerprint() of the job
  std::string model_hash;  ///< model_fingerprint() of the job
  std::string date;        ///< UTC
  std::string host;
  std::string processor;
  std::string libtorch;
  int cores = 1;
  int devices = 0;                ///< GPUs of the host; 0: its cores compute
  std::int64_t memory_bytes = 0;  ///< of the host, or of one of its GPUs
  std::int64_t images_per_microbatch = 0;
  int threads = 1;
  std::vector<NetworkCost> networks;
  std::vector<InstructionCost> instructions;
  std::vector<BlockCost> blocks;
  /// Factor of compute time while i + 1 workers compute on the host; [0] is 1.
  std::vector<double> together{1.0};
  Timing step;  ///< of one worker alone, all phases once, `step_microbatches` micro-batches
  int step_microbatches = 1;
  double data_seconds_per_image = 0.0;  ///< of one loader thread
  double add_seconds_per_byte = 0.0;    ///< of adding one arena to another, per byte of one
  double wake_seconds = 0.0;            ///< until the lane has answered the compute thread
  MemoryCost memory;
  std::optional<comm::LinkTable> links;  ///< between the profiled hosts
  /// Phases of the job's own Python step, which no planner opens; otherwise empty.
  std::vector<OwnPhase> own_phases = {};
  bool operator==(const Profile&) const = default;

  [[nodiscard]] const NetworkCost& network(const std::string& name) const;
  /// Returns the time of `instruction`; zero if the instruction costs nothing by itself.
  [[nodiscard]] Timing cost_of(const pipeline::Instruction& instruction,
                               const PerNetwork<std::string>& names) const;
};

/// Returns the shares of `network`'s last backward after which each bucket is ready. The backward
/// runs from the last block to the first.
[[nodiscard]] std::vector<double> ready_shares(const Profile& profile, const NetworkCost& network);

/// Returns a hash that is equal for jobs whose micro-batches cost the same. Covers all settings
/// that decide weights, except seed, number of micro-batches, training length and rates.
[[nodiscard]] std::string costs_fingerprint(const JobSpec& job);

[[nodiscard]] std::string to_json(const Profile& profile);
/// @param name  of the file, for messages
/// @throws ConfigError if `text` is no profile; one line with the remedy
[[nodiscard]] Profile parse_profile(std::string_view text, const std::string& name);
/// @throws ConfigError if the file cannot be read
[[nodiscard]] Profile read_profile(const std::filesystem::path& file);
/// @throws ConfigError, one line with the remedy, if `profile` was measured with another job
void require_fitting(const Profile& profile, const std::string& file, const JobSpec& job);

/// Returns the file, named after the job and in the current folder, that `gangway profile` writes.
[[nodiscard]] std::filesystem::path default_profile_file(const std::filesystem::path& job_file);
/// Returns the first profile that exists: in the job file's folder, or in the current folder.
[[nodiscard]] std::optional<std::filesystem::path> find_profile(
    const std::filesystem::path& job_file);

}  // namespace gangway::plan
