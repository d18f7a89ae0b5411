// SPDX-License-Identifier: MIT
// Trains a job with one worker alone in this process, without coordinator, checkpoints or pictures.
// Runs the worker's own code, so that measured costs are those of training. The constructing thread
// computes; a second one communicates, as in a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "comm/lane.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "data/dataset.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"
#include "worker/pass/real_batches.hpp"
#include "worker/replica.hpp"
#include "worker/step/step_operations.hpp"

namespace gangway::launch {

/// Key of an instruction, without micro-batch and repeat.
struct InstructionKind {
  pipeline::Operation operation{};
  NetworkId network{};
  int phase = 0;
  int pass = 0;
  int node = 0;
  auto operator<=>(const InstructionKind&) const = default;
};
/// Seconds of each run, on the compute device. A reduce includes the wait for the new weights.
using InstructionSamples = std::map<InstructionKind, std::vector<double>>;

/// Sets malloc as the worker's program does (worker/worker_program.cpp). Call before measuring.
void keep_freed_memory();

/// Makes the device of a job that trains alone in its process. `job` must outlive it.
[[nodiscard]] std::unique_ptr<worker::ComputeDevice> make_lone_device(
    const JobSpec& job, const worker::DeviceMaker& make);

class OneWorker {
 public:
  /// Makes networks, data and exchanges. @throws Error like the start of a worker
  OneWorker(const JobSpec& job, std::unique_ptr<worker::ComputeDevice> device);
  OneWorker(const OneWorker&) = delete;
  OneWorker& operator=(const OneWorker&) = delete;
  ~OneWorker();

  /// Trains one step that runs every phase, lazy ones too, without overlap.
  /// @param samples  null: not wanted
  /// @return seconds
  double run_step(InstructionSamples* samples = nullptr);

  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] const std::vector<pipeline::Phase>& phases() const { return phases_; }
  [[nodiscard]] const data::Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] PerNetwork<worker::NetworkState*> networks() { return replica_->networks(); }
  [[nodiscard]] comm::Lane& lane() { return *lane_; }
  [[nodiscard]] worker::ComputeDevice& device() { return *device_; }
  /// Returns the first micro-batch. @pre a step has been run
  [[nodiscard]] const worker::RealBatch& real_batch() const { return reals_->latest(0); }
  /// Number of dimensions of a batch of real examples.
  [[nodiscard]] std::size_t num_dimensions() const { return reals_->num_dimensions(); }

 private:
  JobSpec job_;
  MicrobatchRange all_;
  std::vector<pipeline::Phase> phases_;
  std::vector<pipeline::Phase> scheduled_;  // the same phases, each in every step
  comm::LoopbackHub hub_{1};
  comm::LoopbackTransport transport_{hub_, 0};
  std::unique_ptr<worker::ComputeDevice> device_;
  std::unique_ptr<worker::DeviceMarks> marks_;  // null: calls return when their work is done
  std::optional<worker::Replica> replica_;
  std::unique_ptr<comm::Lane> lane_;  // destroyed before the replica, whose host it listens to
  std::unique_ptr<data::Dataset> dataset_;
  std::optional<worker::ExchangeSetup> exchange_;
  std::optional<worker::RealBatches> reals_;
  std::optional<worker::StepOperations> operations_;
  std::int64_t step_ = 0;
};

}  // namespace gangway::launch
