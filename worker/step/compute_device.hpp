// SPDX-License-Identifier: MIT
// What a worker computes on: its CPU, or one CUDA device (worker/cuda/cuda_device.hpp). Compute
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "job/spec.hpp"
#include "worker/state/network_state.hpp"
#include "worker/step/neighbours.hpp"
#include "worker/step/network_sync.hpp"

namespace gangway::worker {

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// Equal where forward and backward give equal bits: "cpu", "NVIDIA H100 80GB HBM3".
  [[nodiscard]] virtual std::string kind() const = 0;
  /// Whether work may still go on when the calls that asked for it have returned.
  [[nodiscard]] virtual bool lags_behind() const = 0;
  /// Moves a network to the device's memory, if that is another.
  virtual void place(NetworkState& network) = 0;
  /// @param network  0 or 1; all workers make theirs in one order
  [[nodiscard]] virtual std::unique_ptr<NetworkSync> make_sync(NetworkState& state, int network,
                                                               const ExchangeSetup& setup,
                                                               int worker) = 0;
  /// Meets the devices of all other workers, who call it as well. @throws CommError
  virtual void connect(const ExchangeSetup& setup) = 0;
  /// Parts from them in good order. @pre no exchange is left. @throws CommError
  virtual void finish() = 0;
};

class CpuDevice final : public ComputeDevice {
 public:
  explicit CpuDevice(const JobSpec& job) : job_(job) {}
  [[nodiscard]] at::Device device() const override { return at::kCPU; }
  [[nodiscard]] std::string kind() const override { return "cpu"; }
  [[nodiscard]] bool lags_behind() const override { return false; }
  void place(NetworkState& /*network*/) override {}
  [[nodiscard]] std::unique_ptr<NetworkSync> make_sync(NetworkState& state, int network,
                                                       const ExchangeSetup& setup,
                                                       int worker) override;
  void connect(const ExchangeSetup& /*setup*/) override {}
  void finish() override {}

 private:
  const JobSpec& job_;
};

/// Makes the device of one worker. @throws EnvironmentError where there is none.
using DeviceMaker = std::function<std::unique_ptr<ComputeDevice>(
    const JobSpec& job, const Neighbours& neighbours, int worker)>;

}  // namespace gangway::worker
