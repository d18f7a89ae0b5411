// SPDX-License-Identifier: MIT
// What a worker's step consists of, by the time of its compute thread: each moment belongs to one
// part. No third party.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::messages {

/// Those that belong to no network.
enum class StepPart : std::size_t {
  kOther,       ///< what no part names
  kData,        ///< waits for the loader
  kDataCopy,    ///< real examples into the layout, or the memory, that networks take
  kLeaves,      ///< gradients bound, zeroed and added up by micro-batch
  kExchange,    ///< waits while the lane adds up, packs and publishes gradients and weights
  kOptimizer,   ///< waits while the lane updates weights
  kWorkers,     ///< waits for workers of this host
  kMessages,    ///< waits for messages of other hosts
  kDevice,      ///< waits for the device
  kTensors,     ///< waits for tensors of other stages, or of networks elsewhere: the bubble
  kTensorSend,  ///< hands such tensors over
  kRecorded,    ///< plays what was recorded of a step
  kChecks,      ///< layout.check_steps
  kSnapshots,
  kCheckpoints,
  kPictures,
  kCoordinator,  ///< waits for its next lease
  kTrace,        ///< writes a trace
  kReport,       ///< tells what the step was
};
inline constexpr std::array<std::string_view, 19> kStepPartNames = {
    "other",       "data",     "data_copy",   "leaves",      "exchange", "optimizer", "workers",
    "messages",    "device",   "tensors",     "tensor_send", "recorded", "checks",    "snapshots",
    "checkpoints", "pictures", "coordinator", "trace",       "report"};

/// Those that each network has.
enum class NetworkPart : std::size_t {
  kForward,  ///< recomputed ones too, but for those of single blocks
  kBackward,
  kPenalty,  ///< both sweeps of each
};
inline constexpr std::array<std::string_view, 3> kNetworkPartNames = {"forward", "backward",
                                                                      "penalty"};

/// What a step was to the threads that read examples, all of them together: seconds, but for the
/// last two, calls for a batch and how many lay ready at them.
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

/// "data", "generator_forward": by index.
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
