// SPDX-License-Identifier: MIT
// Interface of the device that a worker computes on: its CPU, or one CUDA device
// (worker/cuda/cuda_device.hpp). Compute thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/host/host_memory.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"
#include "worker/pass/batch_staging.hpp"
#include "worker/pass/tensor_carrier.hpp"
#include "worker/state/network_state.hpp"
#include "worker/step/graph_recorder.hpp"
#include "worker/step/neighbours.hpp"
#include "worker/step/network_exchange.hpp"
#include "worker/trace/device_marks.hpp"

namespace gangway::worker {

/// Exchanges that turn each network's gradients into its new weights on all workers.
using NetworkExchanges = PerNetwork<std::unique_ptr<NetworkExchange>>;

/// Present state of a device's memory.
struct DeviceMemory {
  int num_devices = 0;  ///< of the machine
  std::int64_t total_bytes = 0;
  std::int64_t used_bytes = 0;  ///< by all processes
};

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// Returns a name, equal if forward and backward give equal bits: "cpu", "NVIDIA H100 80GB HBM3".
  [[nodiscard]] virtual std::string kind() const = 0;
  /// Returns further facts about its arithmetic, for the user.
  [[nodiscard]] virtual std::vector<messages::ArithmeticFact> facts() const { return {}; }
  /// Returns whether calls return before their work on the device is done.
  [[nodiscard]] virtual bool lags_behind() const = 0;
  /// Moves a network, which outlives this, to the device's memory. Lays out the sums of its
  /// gradients over the micro-batches `own`, in host memory if the CPU adds them. All workers place
  /// their networks in the same order.
  /// @param own  nothing: this worker does not hold the network
  virtual void place(NetworkState& network, std::optional<MicrobatchRange> own,
                     comm::HostMemory& host) = 0;
  /// Connects to all other workers' devices; all workers call it. @pre the networks were placed
  /// @throws CommError
  [[nodiscard]] virtual NetworkExchanges connect(const PerNetwork<NetworkState*>& networks,
                                                 const ExchangeSetup& setup) = 0;
  /// Makes the staging of real batches on the device; null: batches are used where they are read.
  [[nodiscard]] virtual std::unique_ptr<BatchStaging> make_staging(const StagingSetup& /*setup*/) {
    return nullptr;
  }
  /// Makes the carrier of tensors between workers' devices. All workers call it before connect().
  [[nodiscard]] virtual std::unique_ptr<TensorCarrier> make_carrier(const CarrierSetup& setup) = 0;
  /// Makes a recorder of the device's work; null: the device gains nothing by it, or cannot.
  [[nodiscard]] virtual std::unique_ptr<GraphRecorder> make_recorder() { return nullptr; }
  /// Called after each step, before its results are kept. @throws c10::OutOfMemoryError if a
  /// library lacked memory and may have chosen another kernel, with other bits
  virtual void require_own_kernels() const {}
  /// Waits until all work on the device is done.
  virtual void wait() {}
  /// Makes marks that measure the device's time; null: the device never lags behind the calls.
  [[nodiscard]] virtual std::unique_ptr<DeviceMarks> make_marks() { return nullptr; }
  /// Returns the device's memory; nothing: it computes in host memory.
  [[nodiscard]] virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
  /// Adds its allocator's figures: `allocated_bytes`, `reserved_bytes` and, for a GPU, `peak_bytes`
  /// and `retries`. Sets the memory limit if the device has less left than the limit in `figures`.
  virtual void tell_memory(messages::MemoryFigures& figures) const = 0;
  /// Returns the driver's last gauges, without waiting; nothing if the driver reports none.
  [[nodiscard]] virtual std::optional<messages::DeviceGauges> gauges() const {
    return std::nullopt;
  }
  /// Returns the payload bytes that it has sent to other workers' devices by itself.
  [[nodiscard]] virtual std::uint64_t bytes_sent() const { return 0; }
  /// Disconnects from the other workers. @pre no exchange is left. @throws CommError
  virtual void finish() = 0;
};

class CpuDevice : public ComputeDevice {
 public:
  explicit CpuDevice(const Job& job) : job_(job) {}
  [[nodiscard]] at::Device device() const override { return at::kCPU; }
  [[nodiscard]] std::string kind() const override { return "cpu"; }
  [[nodiscard]] bool lags_behind() const override { return false; }
  void place(NetworkState& network, std::optional<MicrobatchRange> own,
             comm::HostMemory& host) override;
  [[nodiscard]] NetworkExchanges connect(const PerNetwork<NetworkState*>& networks,
                                         const ExchangeSetup& setup) override;
  [[nodiscard]] std::unique_ptr<TensorCarrier> make_carrier(const CarrierSetup& setup) override;
  void tell_memory(messages::MemoryFigures& figures) const override;
  void finish() override {}

 private:
  const Job& job_;
  std::map<const NetworkState*, comm::PartialStack> partials_;  // until they are connected
};

/// Makes the device of one worker. @throws EnvironmentError if there is none.
using DeviceMaker = std::function<std::unique_ptr<ComputeDevice>(
    const Job& job, const Execution& execution, const Neighbours& neighbours, int worker)>;

}  // namespace gangway::worker
