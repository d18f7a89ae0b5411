// SPDX-License-Identifier: MIT
// Real training in one process: every worker a thread with its own Training and lane, a loopback
// for the wires and a coordinator that only hands out leases. Called by the fidelity tests from the
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
  std::filesystem::path checkpoint;           ///< committed; of the last step
  std::string digest;                         ///< of that checkpoint
  std::map<std::int64_t, StepLosses> losses;  ///< by steps done
  std::uint64_t device_steps = 0;             ///< of all workers, that devices were looked at in
  std::uint64_t sent_bytes = 0;               ///< of all workers, as they tell of their steps
  /// What all workers were shown of updates, by network and number.
  std::map<std::pair<int, std::int64_t>, messages::UpdateSquares> squares;
  std::map<std::string, Histogram> histograms;  ///< by step and tag, of all workers
};

/// Steps [begin, end) of a job on a number of workers.
struct Stretch {
  const JobSpec& job;
  int workers = 1;
  std::int64_t begin = 0;
  std::int64_t end = 1;
  std::filesystem::path resume = {};  ///< checkpoint of step `begin`, where that is not 0
  comm::LoopbackHub::Injector disturbance = nullptr;  ///< what happens to messages
  std::vector<int> hosts = {};     ///< by worker: equal where memory is shared; empty: nowhere
  std::vector<int> machines = {};  ///< by worker: equal where it could be; empty: nowhere
  worker::DeviceMaker device = nullptr;  ///< of each worker; null: the CPU
};

/// Trains and commits a checkpoint below `run_directory`, which must be new. Rethrows the first
/// failure of a worker.
[[nodiscard]] Outcome train(const Stretch& stretch, const std::filesystem::path& run_directory);

/// The stretches one after the other in the same threads, which stand for processes: a generation
/// each, of no more workers than the one before, which begins with the snapshot that that one has
/// left in memory. Checkpoints the last.
[[nodiscard]] Outcome train_generations(const JobSpec& job, const std::vector<Stretch>& generations,
                                        const std::filesystem::path& run_directory);

/// Steps [0, steps) of `job` on one worker, which many tests compare theirs with: trained once a
/// process, whatever the job's layout. The checkpoint
/// stays until the process ends.
[[nodiscard]] const Outcome& trained_alone(const JobSpec& job, std::int64_t steps);

/// All float tensors of a checkpoint by name, in their shapes. Copies.
[[nodiscard]] std::map<std::string, at::Tensor> tensors_of(const std::filesystem::path& checkpoint);

/// Whether every loss and every stored value is a finite number.
[[nodiscard]] bool is_finite(const Outcome& outcome);

/// Whether both trained with the same losses, bit for bit.
[[nodiscard]] bool same_losses(const Outcome& left, const Outcome& right);

}  // namespace gangway::fidelity
