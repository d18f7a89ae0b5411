// SPDX-License-Identifier: MIT
// What a job costs on one kind of device, as `gangway profile` measures it and `gangway plan` reads
// it: a JSON file for people and programs. Pure.
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

/// Of repeated measurements.
struct Timing {
  double seconds = 0.0;  ///< median
  double scatter = 0.0;  ///< seconds; half the distance between the quartiles
  bool operator==(const Timing&) const = default;
};

/// Median and scatter of `samples`; zeros where there are none.
[[nodiscard]] Timing timing_of(std::vector<double> samples);

/// One kind of instruction of a step, over one micro-batch, as the worker's own code runs it.
struct InstructionCost {
  pipeline::Operation operation = pipeline::Operation::kForward;
  std::string network;
  int phase = 0;
  int pass = 0;
  int node = 0;
  Timing time;
  bool operator==(const InstructionCost&) const = default;
};

/// A block of a network alone, over one micro-batch.
struct BlockCost {
  std::string network;
  int block = 0;
  Timing forward;             ///< with its graph
  Timing input_gradient;      ///< zero where it takes no tensor that has one
  Timing weight_gradient;     ///< what it costs on top of the input gradient
  std::int64_t kept_bytes{};  ///< live behind the forward for its backward, what it makes included
  std::int64_t output_bytes{};
  std::int64_t parameters{};
  bool operator==(const BlockCost&) const = default;
};

/// Gradients that are reduced together.
struct BucketSize {
  std::int64_t elements = 0;  ///< of the arena
  int first_block = 0;        ///< of the network, whose gradients it awaits last
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

/// What a host's memory holds.
struct MemoryCost {
  std::int64_t process_bytes = 0;  ///< resident before the job's tensors: programs and libraries
  std::int64_t working_bytes = 0;  ///< peak of what a step's compute has alive beside the arenas
  /// Peak resident of a worker alone that none of the others explains: allocator, batches, queues.
  std::int64_t other_bytes = 0;
  bool operator==(const MemoryCost&) const = default;
};

struct Profile {
  std::string job;         ///< file it was measured of
  std::string costs_hash;  ///< costs_fingerprint() of it
  std::string model_hash;  ///< model_fingerprint()
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
  /// Factor of compute time where so many workers compute on the host at once: [0] is 1.
  std::vector<double> together{1.0};
  Timing step;  ///< of one worker alone, all phases once, `step_microbatches` micro-batches
  int step_microbatches = 1;
  double data_seconds_per_image = 0.0;  ///< of one loader thread
  double add_seconds_per_byte = 0.0;    ///< of adding one arena to another, by bytes of one
  double wake_seconds = 0.0;            ///< until the communicating thread has answered compute
  MemoryCost memory;
  std::optional<comm::LinkTable> links;  ///< of the hosts that it was measured for
  /// Of the job's own step, which no planner opens; else none.
  std::vector<OwnPhase> own_phases = {};
  bool operator==(const Profile&) const = default;

  [[nodiscard]] const NetworkCost& network(const std::string& name) const;
  /// Of `instruction`; zero of those that cost nothing by themselves.
  [[nodiscard]] Timing cost_of(const pipeline::Instruction& instruction,
                               const PerNetwork<std::string>& names) const;
};

/// When each bucket of `network` is ready in its last backward, as shares of that: blocks go from
/// the last to the first.
[[nodiscard]] std::vector<double> ready_shares(const Profile& profile, const NetworkCost& network);

/// Equal for jobs whose micro-batches cost the same: everything that decides weights but the seed,
/// how many micro-batches there are, how long it trains, and rates.
[[nodiscard]] std::string costs_fingerprint(const JobSpec& job);

[[nodiscard]] std::string to_json(const Profile& profile);
/// @param name  of the file, for messages
/// @throws ConfigError where `text` is no profile, one line with the remedy
[[nodiscard]] Profile parse_profile(std::string_view text, const std::string& name);
/// @throws ConfigError where it cannot be read
[[nodiscard]] Profile read_profile(const std::filesystem::path& file);
/// @throws ConfigError, one line with the remedy, where `profile` was measured of another job.
void require_fitting(const Profile& profile, const std::string& file, const JobSpec& job);

/// Where `gangway profile` leaves it and `gangway plan` looks: beside the caller, named by the job.
[[nodiscard]] std::filesystem::path default_profile_file(const std::filesystem::path& job_file);
/// The first that exists: in the job file's folder, or here, where `gangway profile` leaves it.
[[nodiscard]] std::optional<std::filesystem::path> find_profile(
    const std::filesystem::path& job_file);

}  // namespace gangway::plan
