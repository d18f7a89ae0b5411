// SPDX-License-Identifier: MIT
// Names the parts of a worker's step. Each moment of the compute thread belongs to one part. No
// third-party library.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::messages {

/// Parts that belong to no network.
enum class StepPart : std::size_t {
  kOther,       ///< all time of no other part
  kData,        ///< waits for the loader
  kDataCopy,    ///< copies real examples into the networks' memory layout or device
  kLeaves,      ///< binds and zeroes gradients, and sums them by micro-batch
  kExchange,    ///< waits while the lane adds up, packs and publishes gradients and weights
  kOptimizer,   ///< waits while the lane updates weights
  kWorkers,     ///< waits for workers of this host
  kMessages,    ///< waits for messages of other hosts
  kDevice,      ///< waits for the device
  kTensors,     ///< waits for tensors of other stages or other workers' networks: the bubble
  kTensorSend,  ///< sends such tensors
  kRecorded,    ///< replays the recorded part of a step
  kChecks,      ///< layout.check_steps
  kSnapshots,
  kCheckpoints,
  kPictures,
  kCoordinator,  ///< waits for its next lease
  kTrace,        ///< writes a trace
  kReport,       ///< reports the step
};
inline constexpr std::array<std::string_view, 19> kStepPartNames = {
    "other",       "data",     "data_copy",   "leaves",      "exchange", "optimizer", "workers",
    "messages",    "device",   "tensors",     "tensor_send", "recorded", "checks",    "snapshots",
    "checkpoints", "pictures", "coordinator", "trace",       "report"};

/// Parts that each network has.
enum class NetworkPart : std::size_t {
  kForward,  ///< with recomputed forwards, except those of single blocks
  kBackward,
  kPenalty,  ///< both sweeps (forward and backward)
};
inline constexpr std::array<std::string_view, 3> kNetworkPartNames = {"forward", "backward",
                                                                      "penalty"};

/// Figures of all loader threads together in a step. They are seconds, except the last two: the
/// number of requests for a batch, and the number of batches ready at them.
inline constexpr std::array<std::string_view, 8> kLoaderFigureNames = {
    "read", "decode", "fit", "augment", "pack", "no_room", "asked", "ready"};

constexpr std::size_t index_of(StepPart part) { return static_cast<std::size_t>(part); }
/// @param network  its index in the job
constexpr std::size_t index_of(NetworkPart part, std::size_t network) {
  return kStepPartNames.size() + network * kNetworkPartNames.size() +
         static_cast<std::size_t>(part);
}
constexpr std::size_t num_step_parts(std::size_t num_networks) {
  return index_of(NetworkPart::kForward, num_networks);
}

/// Returns the parts' names by index: "data", "generator_forward".
inline std::vector<std::string> step_part_names(const std::vector<std::string>& networks) {
  std::vector<std::string> names(kStepPartNames.begin(), kStepPartNames.end());
  for (const std::string& network : networks) {
    for (const std::string_view part : kNetworkPartNames) {
      names.push_back(network + "_" + std::string(part));
    }
  }
  return names;
}

}  // namespace gangway::messages
