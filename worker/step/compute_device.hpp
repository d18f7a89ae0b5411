// SPDX-License-Identifier: MIT
// What a worker computes on: its CPU, or one CUDA device (worker/cuda/cuda_device.hpp). Compute
// thread.
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

/// How the gradients of each network become its new weights everywhere.
using NetworkExchanges = PerNetwork<std::unique_ptr<NetworkExchange>>;

/// As it is now.
struct DeviceMemory {
  int num_devices = 0;  ///< of the machine
  std::int64_t total_bytes = 0;
  std::int64_t used_bytes = 0;  ///< by whoever
};

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// Equal where forward and backward give equal bits: "cpu", "NVIDIA H100 80GB HBM3".
  [[nodiscard]] virtual std::string kind() const = 0;
  /// What else is known of how it computes, for people.
  [[nodiscard]] virtual std::vector<messages::ArithmeticFact> facts() const { return {}; }
  /// Whether work may still go on when the calls that asked for it have returned.
  [[nodiscard]] virtual bool lags_behind() const = 0;
  /// Takes a network up, which outlives this: moves it to the device's memory, if that is another,
  /// and lays out the sums of its gradients over the micro-batches `own`, in memory of the host
  /// where the CPU adds them. All workers place theirs in one order.
  /// @param own  nothing: this worker does not hold the network
  virtual void place(NetworkState& network, std::optional<MicrobatchRange> own,
                     comm::HostMemory& host) = 0;
  /// Meets the devices of all other workers, who call it as well. @pre the networks were placed
  /// @throws CommError
  [[nodiscard]] virtual NetworkExchanges connect(const PerNetwork<NetworkState*>& networks,
                                                 const ExchangeSetup& setup) = 0;
  /// How real batches come to the device ahead of their use; null: they are used where they are
  /// read.
  [[nodiscard]] virtual std::unique_ptr<BatchStaging> make_staging(const StagingSetup& /*setup*/) {
    return nullptr;
  }
  /// How tensors of passes come to and from other workers' devices, who call it as well, before
  /// they connect().
  [[nodiscard]] virtual std::unique_ptr<TensorCarrier> make_carrier(const CarrierSetup& setup) = 0;
  /// Records what is computed; null: the device has nothing to gain from it, or cannot.
  [[nodiscard]] virtual std::unique_ptr<GraphRecorder> make_recorder() { return nullptr; }
  /// Behind each step, before anything of it is kept. @throws c10::OutOfMemoryError where a library
  /// may have taken another kernel than the job's for want of memory, and so left other bits
  virtual void require_own_kernels() const {}
  /// Until all that was put on it is done.
  virtual void wait() {}
  /// Says what it spends its time on; null: it keeps pace with the calls.
  [[nodiscard]] virtual std::unique_ptr<DeviceMarks> make_marks() { return nullptr; }
  /// Nothing: it computes in the host's memory.
  [[nodiscard]] virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
  /// What its allocator has: `allocated_bytes`, `reserved_bytes` and, of a GPU, `peak_bytes` and
  /// `retries`, and its limit, where that has less left than the one told there.
  virtual void tell_memory(messages::MemoryFigures& figures) const = 0;
  /// What its driver last told of it; does not wait. Nothing where none does.
  [[nodiscard]] virtual std::optional<messages::DeviceGauges> gauges() const {
    return std::nullopt;
  }
  /// Payload that it has sent to other workers' devices by itself.
  [[nodiscard]] virtual std::uint64_t bytes_sent() const { return 0; }
  /// Parts from them in good order. @pre no exchange is left. @throws CommError
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

/// Makes the device of one worker. @throws EnvironmentError where there is none.
using DeviceMaker = std::function<std::unique_ptr<ComputeDevice>(
    const Job& job, const Execution& execution, const Neighbours& neighbours, int worker)>;

}  // namespace gangway::worker
