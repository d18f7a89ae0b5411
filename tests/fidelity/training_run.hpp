// SPDX-License-Identifier: MIT
// Real training in one process. Every worker is a thread with its own Training and lane; a loopback
// carries messages, and a coordinator only grants leases. Called by the fidelity tests from the
// test's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers/histogram.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "worker/link/coordinator_link.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::fidelity {

/// Losses of one step, by micro-batch.
using StepLosses = std::map<int, messages::MicrobatchLoss>;

struct Outcome {
  std::filesystem::path checkpoint;           ///< committed, of the last step
  std::string digest;                         ///< of that checkpoint
  std::map<std::int64_t, StepLosses> losses;  ///< by steps done
  std::uint64_t device_steps = 0;             ///< of all workers, observed on devices
  std::uint64_t sent_bytes = 0;               ///< of all workers, by their reports
  /// All workers' figures of updates, by network and number.
  std::map<std::pair<int, std::int64_t>, messages::UpdateSquares> squares;
  std::map<std::string, Histogram> histograms;  ///< by step and tag, of all workers
};

/// Trains steps [begin, end) of a job on a number of workers.
struct Stretch {
  const JobSpec& job;
  int workers = 1;
  std::int64_t begin = 0;
  std::int64_t end = 1;
  std::filesystem::path resume = {};  ///< checkpoint of step `begin`, unless that is 0
  comm::LoopbackHub::Injector disturbance = nullptr;  ///< delays and losses of messages
  std::vector<int> hosts = {};           ///< by worker: equal if memory is shared; empty: none
  std::vector<int> machines = {};        ///< by worker: equal if it could be; empty: none
  worker::DeviceMaker device = nullptr;  ///< of each worker; null: the CPU
};

/// Trains and commits a checkpoint below `run_directory`, which must be new. Rethrows the first
/// failure of a worker.
[[nodiscard]] Outcome train(const Stretch& stretch, const std::filesystem::path& run_directory);

/// Trains the stretches one after another in the same threads, which stand for processes. Each is a
/// generation of at most as many workers as the one before, and begins with its snapshot in memory.
/// Checkpoints the last.
[[nodiscard]] Outcome train_generations(const JobSpec& job, const std::vector<Stretch>& generations,
                                        const std::filesystem::path& run_directory);

/// Trains steps [0, steps) of `job` on one worker, for comparison: once per process, for any layout
/// of the job. The checkpoint
/// stays until the process ends.
[[nodiscard]] const Outcome& trained_alone(const JobSpec& job, std::int64_t steps);

/// Returns copies of all float tensors of a checkpoint by name, in their shapes.
[[nodiscard]] std::map<std::string, at::Tensor> tensors_of(const std::filesystem::path& checkpoint);

/// Returns whether every loss and every stored value is finite.
[[nodiscard]] bool is_finite(const Outcome& outcome);

/// Returns whether both had the same losses, bit for bit.
[[nodiscard]] bool same_losses(const Outcome& left, const Outcome& right);

}  // namespace gangway::fidelity
